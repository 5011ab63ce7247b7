// Starts the page.
import { render } from 'preact'
import { App } from './app.tsx'
import { isTeam } from './here.ts'
import { listen } from './live.ts'
import { followLinks } from './router.ts'
import { startTheme } from './theme.ts'

document.addEventListener('click', followLinks)
startTheme()
// A team server tells when it is asked.
if (!isTeam) listen()
render(<App />, document.getElementById('app') as HTMLElement)
