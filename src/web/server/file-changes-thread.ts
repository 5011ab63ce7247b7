// The thread that puts the edits of a session together for the page.
import { parentPort, workerData } from 'node:worker_threads'
import type { StorePaths } from '../../store/reading.ts'
import { ChangeDesk, type ChangeQuestion } from './file-changes.ts'

const port = parentPort as NonNullable<typeof parentPort>
const desk = new ChangeDesk(workerData as StorePaths)

port.on('message', ({ id, question }: { id: number; question: ChangeQuestion }) => {
  port.postMessage(desk.told(id, question))
})
