// What stands open in a transcript, by the number of its event: the address tells which are otherwise than at first.
import { param, setParams } from './router.ts'

export interface Folds {
  isOpen(seq: number, atFirst: boolean): boolean
  set(seq: number, isOpen: boolean, atFirst: boolean): void
}

const toggled = (): number[] =>
  (param('folds') ?? '')
    .split(',')
    .map(Number)
    .filter((seq) => seq > 0)

export function foldsOf(): Folds {
  const others = new Set(toggled())
  return {
    isOpen: (seq, atFirst) => atFirst !== others.has(seq),
    set(seq, isOpen, atFirst) {
      const rest = toggled().filter((one) => one !== seq)
      const next = isOpen === atFirst ? rest : [...rest, seq]
      setParams({ folds: next.length === 0 ? undefined : next.join(',') }, { replace: true })
    },
  }
}
