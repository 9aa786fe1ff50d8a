import { type Static, Type } from 'typebox'
import { type Capability, defineMessage } from '../../kernel/wire/message.ts'

export const key = 'grant_targets'
export const capability: Capability = { id: 'rule.target-filter', since: '2.0.0' }

export const Targets = defineMessage({
  name: 'sluice.grants.Targets',
  proto: new URL('./grants.proto', import.meta.url),
  body: Type.Object({
    allow: Type.Array(
      Type.Object({
        cidr: Type.Optional(Type.String()),
        host: Type.Optional(Type.String()),
        port_from: Type.Optional(Type.Integer()),
        port_to: Type.Optional(Type.Integer())
      })
    )
  })
})
export type Match = Static<typeof Targets.body>['allow'][number]
