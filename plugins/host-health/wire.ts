import { type Static, Type } from 'typebox'
import { type Capability, Count, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./host-health.proto', import.meta.url)

export const capability: Capability = { id: 'host-health', since: '2.0.0' }

const SampleStored = defineMessage({ name: 'sluice.hosthealth.SampleStored', proto, body: Type.Object({}) })

export const Sample = defineRequest({
  name: 'sluice.hosthealth.Sample',
  proto,
  body: Type.Object({
    cpu_percent: Type.Number({ minimum: 0, maximum: 100 }),
    memory_used_bytes: Count,
    memory_total_bytes: Count,
    open_descriptors: Type.Optional(Count),
    rtt_ms: Type.Optional(Type.Number({ minimum: 0, maximum: 1e9 }))
  }),
  response: SampleStored
})
export type Sample = Static<(typeof Sample)['body']>

const Echoed = defineMessage({ name: 'sluice.hosthealth.Echoed', proto, body: Type.Object({}) })

export const Echo = defineRequest({
  name: 'sluice.hosthealth.Echo',
  proto,
  body: Type.Object({}),
  response: Echoed
})

export const HostHealthEnabled = defineMessage({
  name: 'sluice.hosthealth.HostHealthEnabled',
  proto,
  body: Type.Object({})
})

/** The part of Welcome with HostHealthEnabled. */
export const welcomePart = 'host-health'

export const messages = [Sample, SampleStored, Echo, Echoed, HostHealthEnabled]
