// Starts the page.
import { render } from 'preact'
import { App } from './app.tsx'
import { listen } from './live.ts'
import { followLinks } from './router.ts'
import { startTheme } from './theme.ts'

document.addEventListener('click', followLinks)
startTheme()
listen()
render(<App />, document.getElementById('app') as HTMLElement)
