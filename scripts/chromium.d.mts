import type { Browser } from 'playwright-core'

export function hasChromium(): boolean
export function launchChromium(): Promise<Browser>
