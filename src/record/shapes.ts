// Parts of schemas that every format uses. Built once: each costs CPU when the module is imported.
import * as z from 'zod'

export const Text = z.string()
export const OptionalText = Text.optional()
export const NullableText = Text.nullable()
export const Whole = z.int()
export const OptionalWhole = Whole.optional()
export const Count = Whole.nonnegative()
export const Amount = z.number()
