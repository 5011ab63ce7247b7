// What this page is of, as its document tells it.
import type { Here } from '../server/here.ts'

const told = document.querySelector<HTMLMetaElement>('meta[name=recollect-here]')?.content

export const here: Here = JSON.parse(decodeURIComponent(told ?? ''))
export const isTeam = here.team !== null
export const hasView = (path: string): boolean => here.views?.includes(path) ?? true
export const hasTab = (name: string): boolean => here.tabs?.includes(name) ?? true
