// Makes text that a regular expression matches, so that tokens for tests are drawn at run time and none is committed.
// Knows what the rule table uses: classes, groups, alternatives, bounded repetition, lookarounds (taken as given).

/** A random source that gives the same numbers in every run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0 || 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

const CLASSES: Record<string, string> = { d: '0123456789', s: ' ' }

export function drawMatch(source: string, random: () => number): string {
  let at = 0
  const pick = <T>(from: ArrayLike<T>): T => from[Math.floor(random() * from.length)] as T

  function readClass(): string[] {
    const negated = source[at] === '^'
    if (negated) at++
    let members = ''
    while (source[at] !== ']') {
      if (source[at] === '\\') {
        const name = source[at + 1] as string
        members += CLASSES[name] ?? name
        at += 2
      } else if (source[at + 1] === '-' && source[at + 2] !== ']') {
        for (let c = source.charCodeAt(at); c <= source.charCodeAt(at + 2); c++)
          members += String.fromCharCode(c)
        at += 3
      } else members += source[at++]
    }
    at++
    return negated ? [...':./'].filter((c) => !members.includes(c)) : [...members]
  }

  /** Reads one repeatable piece; gives a function that draws it once. */
  function readPiece(): () => string {
    const c = source[at++] as string
    if (c === '[') {
      const members = readClass()
      const solid = members.filter((member) => /[A-Za-z0-9]/.test(member))
      // As in real tokens, where a sign is one of 64 characters.
      return () => pick(solid.length > 9 && random() < 0.97 ? solid : members)
    }
    if (c === '(') {
      const isLook = /^\?<?[!=]/.exec(source.slice(at, at + 3))
      if (source[at] === '?') at += isLook?.[0].length ?? 2
      const inner = readAlternatives()
      at++
      return isLook ? () => '' : inner
    }
    if (c === '\\') {
      const name = source[at++] as string
      const members = CLASSES[name] ?? name
      return () => pick(members)
    }
    return c === '^' || c === '$' ? () => '' : () => c
  }

  function readCount(): [number, number] {
    const braces = /^\{(\d+)(,?)(\d*)\}/.exec(source.slice(at))
    if (braces) {
      at += braces[0].length
      const least = Number(braces[1])
      // Near the lower end: long enough, and quick.
      return [least, braces[2] ? Math.min(Number(braces[3]), least + 12) : least]
    }
    if (source[at] !== '?') return [1, 1]
    at++
    return [0, 1]
  }

  function readSequence(): () => string {
    const pieces: { draw: () => string; count: [number, number] }[] = []
    while (at < source.length && source[at] !== ')' && source[at] !== '|') {
      const draw = readPiece()
      pieces.push({ draw, count: readCount() })
    }
    return () =>
      pieces
        .map(({ draw, count: [least, most] }) => {
          let out = ''
          for (let n = least + Math.floor(random() * (most - least + 1)); n > 0; n--) out += draw()
          return out
        })
        .join('')
  }

  function readAlternatives(): () => string {
    const options = [readSequence()]
    while (source[at] === '|') {
      at++
      options.push(readSequence())
    }
    return () => pick(options)()
  }

  return readAlternatives()()
}
