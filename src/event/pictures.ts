// Pictures that stand in a record as bytes. They are judged by their fields: no adapter tells them.

export interface Picture {
  type: string
  base64: string
}

const PICTURE_TYPES = /^image\/(png|jpeg|gif|webp)$/
const DATA_URL = /^data:(image\/[a-z]+);base64,([A-Za-z0-9+/=]+)$/
const MAX_DEPTH = 6
const MAX_PICTURES = 20

/** Drawings that could carry scripts are not among them. */
export function picturesIn(value: unknown, depth = MAX_DEPTH, found: Picture[] = []): Picture[] {
  if (depth === 0 || typeof value !== 'object' || value === null || found.length >= MAX_PICTURES) return found
  if (Array.isArray(value)) {
    for (const part of value) picturesIn(part, depth - 1, found)
    return found
  }
  const fields = value as Record<string, unknown>
  const type = fields['media_type'] ?? fields['mimeType'] ?? fields['mime_type']
  if (typeof type === 'string' && typeof fields['data'] === 'string' && PICTURE_TYPES.test(type))
    found.push({ type, base64: fields['data'] })
  for (const inner of Object.values(fields)) {
    if (typeof inner === 'string') {
      const match = DATA_URL.exec(inner.slice(0, 5) === 'data:' ? inner : '')
      if (match && PICTURE_TYPES.test(match[1] as string))
        found.push({ type: match[1] as string, base64: match[2] as string })
    } else picturesIn(inner, depth - 1, found)
  }
  return found
}
