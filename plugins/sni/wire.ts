import { type Static, Type } from 'typebox'
import { Count, defineMessage } from '../../kernel/wire/message.ts'

const proto = new URL('./sni.proto', import.meta.url)

/** Upper bounds of the buckets of Peeks. Peeks has one more count, without an upper bound. */
export const boundsMs = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2000, 3000] as const

export const Peeks = defineMessage({
  name: 'sluice.sni.Peeks',
  proto,
  body: Type.Object({
    counts: Type.Array(Count, { maxItems: boundsMs.length + 1 }),
    sum_ms: Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
  })
})
export type Peeks = Static<typeof Peeks.body>

export const messages = [Peeks]
