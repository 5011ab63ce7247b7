// What goes to a terminal, whatever command wrote it: nothing that the terminal would obey, but for colours.
import { UNSEEN } from '../export/text.ts'

/** Not the codes of colours, which are ours. */
export const OBEYED = new RegExp(`(?!\\u001b\\[[\\d;]*m|\\r\\n)(?:${UNSEEN})`, 'gu')

/** Escaped as in JSON, so that records stay records. A pipe or a file gets every byte as it is. */
export const onScreen = (text: string): string => text.replace(OBEYED, escaped)

const escaped = (sign: string): string =>
  Array.from(
    { length: sign.length },
    (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')
