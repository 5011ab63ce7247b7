// Starts the page.
import { render } from 'preact'
import { App } from './app.tsx'
import { listen } from './live.ts'
import { followLinks } from './router.ts'

document.addEventListener('click', followLinks)
listen()
render(<App />, document.getElementById('app') as HTMLElement)
