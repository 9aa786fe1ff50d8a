import { type Static, Type } from 'typebox'
import { type Capability, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./explain.proto', import.meta.url)

export const capability: Capability = { id: 'explain', since: '2.1.0' }

/** Concurrent probes of one agent; the limit per user is lower. */
export const maxProbesOfAgent = 4

/** Maximum duration of a probe, ms. */
export const probeMs = 2_400

export const maxSteps = 64
const maxTargets = 8 // per rule
const Ms = Type.Number({ minimum: 0, maximum: 1e12 })
const Code = Type.String({ maxLength: 64 })

/** Maximum length of each text of a step. */
export const maxLengths = { kind: 32, id: 264, reason: 64, text: 500 } as const

const Step = Type.Object({
  kind: Type.String({ maxLength: maxLengths.kind }),
  id: Type.String({ maxLength: maxLengths.id }),
  verdict: Type.Union([Type.Literal('pass'), Type.Literal('stop'), Type.Literal('info')]),
  reason: Type.Optional(Type.String({ maxLength: maxLengths.reason })),
  text: Type.String({ maxLength: maxLengths.text })
})
export type WireStep = Static<typeof Step>

const Target = Type.Object({
  host: Type.String({ maxLength: 255 }),
  port: Type.Integer({ minimum: 0, maximum: 65_535 }),
  address: Type.Optional(Type.String({ maxLength: 64 })),
  dns_ms: Type.Optional(Ms),
  dns_age_ms: Type.Optional(Ms),
  connect_ms: Type.Optional(Ms),
  tls_name: Type.Optional(Type.String({ maxLength: 255 })),
  first_byte_ms: Type.Optional(Ms),
  path_ms: Type.Optional(Ms),
  error: Type.Optional(Code)
})
export type ProbedTarget = Static<typeof Target>

const Report = defineMessage({
  name: 'sluice.explain.Report',
  proto,
  body: Type.Object({
    steps: Type.Array(Step, { maxItems: maxSteps }),
    targets: Type.Array(Target, { maxItems: maxTargets })
  })
})
export type Report = Static<typeof Report.body>

export const Ask = defineRequest({
  name: 'sluice.explain.Ask',
  proto,
  body: Type.Object({
    rule_id: Type.String({ maxLength: 26 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    source: Type.Optional(Type.String({ maxLength: 64 })),
    sni: Type.Optional(Type.String({ maxLength: 255 })),
    probe: Type.Union([Type.Literal('none'), Type.Literal('dry'), Type.Literal('full')]),
    test_byte: Type.Boolean()
  }),
  response: Report
})
export type Ask = Static<typeof Ask.body>

export const messages = [Ask, Report]
