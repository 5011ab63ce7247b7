// The names of the agents.
import { ADAPTERS } from './index.ts'

export const FLAVORS: readonly string[] = ADAPTERS.map((one) => one.flavor)

/** The flavor that a name stands for; the name itself where it stands for none. */
export const flavorNamed = (name: string): string =>
  ADAPTERS.find((one) => one.aliases?.includes(name))?.flavor ?? name

/** Whose models an agent talks to, by the names of the OpenTelemetry conventions; undefined where that is not known. */
export const providerOf = (flavor: string): string | undefined =>
  ADAPTERS.find((one) => one.flavor === flavor)?.provider
