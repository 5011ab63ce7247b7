// Facts of a whole record that go with the body of its first event.

/** The body with the facts behind it. A name that the body has itself keeps its meaning: the fact gets one of its own. */
export function beside(
  body: Record<string, unknown>,
  facts: Record<string, unknown>,
): Record<string, unknown> {
  const whole = { ...body }
  for (const [name, fact] of Object.entries(facts)) {
    let free = name
    while (Object.hasOwn(whole, free)) free += '_'
    whole[free] = fact
  }
  return whole
}
