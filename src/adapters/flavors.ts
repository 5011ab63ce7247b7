// The names of the agents.
import { ADAPTERS } from './index.ts'

export const FLAVORS: readonly string[] = ADAPTERS.map((one) => one.flavor)

/** The flavor that a name stands for, however it is spelt; the name itself where it stands for none. */
export function flavorNamed(name: string): string {
  const spelt = name.toLowerCase().replace(/[\s_]+/g, '-')
  const isNamed = ({ flavor, aliases }: (typeof ADAPTERS)[number]): boolean =>
    flavor === spelt || aliases?.includes(spelt) === true
  return ADAPTERS.find(isNamed)?.flavor ?? name
}

const LOCAL = new Set(ADAPTERS.filter((one) => one.hasLocalIds).map((one) => one.flavor))

/** Whether ids of its sessions (given as `flavor:id`, too) mean something else on another machine. */
export const hasLocalIds = (uid: string): boolean => LOCAL.has(uid.split(':', 1)[0] as string)

/** Whose models an agent talks to, by the names of the OpenTelemetry conventions; undefined where that is not known. */
export const providerOf = (flavor: string): string | undefined =>
  ADAPTERS.find((one) => one.flavor === flavor)?.provider
