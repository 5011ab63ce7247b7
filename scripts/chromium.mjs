// The browser of tests, pictures and benchmarks: where it is, and how it is started so that it asks nobody for anything.
import { existsSync } from 'node:fs'

const PATH = process.env.RECOLLECT_TEST_CHROMIUM ?? '/usr/bin/chromium'

export const hasChromium = () => existsSync(PATH)

/** Loaded only here: who has no browser needs no driver either. */
export async function launchChromium() {
  const { chromium } = await import('playwright-core')
  return await chromium.launch({ executablePath: PATH, args: FLAGS, timeout: 120_000 })
}

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
