export type Shapes = Map<string, Set<string>>
export function shapesOf(paths: readonly string[]): Shapes
export function newIn(now: Shapes, known: Shapes): { kinds: string[]; fields: [string, string[]][] }
