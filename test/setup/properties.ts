// Properties, drawn from one seed with every change: what fails has failed because of the change. `npm run test:long` draws
// anew each time, and a failure names its seed; RECOLLECT_TEST_SEED repeats one.
import fc from 'fast-check'
import { seedOf } from './long.ts'

fc.configureGlobal({ seed: seedOf(20_261_118) })

export default fc
