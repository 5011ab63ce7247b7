// Puts a text on the clipboard, and says that it did.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

const SAID_MS = 1500

export function CopyButton(props: { name: string; text: string; label?: string }): JSX.Element {
  const { name, text, label = `copy ${name}` } = props
  const [said, setSaid] = useState<'copied' | 'not allowed'>()
  const copy = (): void => {
    const say = (word: 'copied' | 'not allowed') => (): void => {
      setSaid(word)
      setTimeout(() => setSaid(undefined), SAID_MS)
    }
    navigator.clipboard?.writeText(text).then(say('copied'), say('not allowed'))
  }
  return (
    <button type="button" class="quiet" onClick={copy} aria-label={`copy ${name}`}>
      {said ?? label}
    </button>
  )
}
