// Light, dark, or as the system has it: kept in this browser.
import { signal } from '@preact/signals'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'recollect-theme'
const kept = (): Theme => THEMES.find((one) => one === localStorage.getItem(KEY)) ?? 'system'

export const theme = signal<Theme>(kept())

export function setTheme(next: Theme): void {
  theme.value = next
  localStorage.setItem(KEY, next)
  show()
}

function show(): void {
  document.documentElement.dataset['theme'] = theme.value
}

/** Also when another tab chooses. */
export function startTheme(): void {
  show()
  addEventListener('storage', ({ key }) => {
    if (key !== KEY) return
    theme.value = kept()
    show()
  })
}
