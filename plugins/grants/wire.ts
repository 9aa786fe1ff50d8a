import { type Static, Type } from 'typebox'
import { type Capability, defineMessage } from '../../kernel/wire/message.ts'

export const key = 'grant_targets'
export const capability: Capability = { id: 'rule.target-filter', since: '2.0.0' }

const Port = Type.Integer({ minimum: 0, maximum: 65_535 })
export const maxTargetsPerUser = 500 // across all grants of the user

export const Targets = defineMessage({
  name: 'sluice.grants.Targets',
  proto: new URL('./grants.proto', import.meta.url),
  body: Type.Object({
    allow: Type.Array(
      Type.Object({
        cidr: Type.Optional(Type.String({ maxLength: 64 })),
        host: Type.Optional(Type.String({ maxLength: 255 })),
        port_from: Type.Optional(Port),
        port_to: Type.Optional(Port)
      }),
      { maxItems: maxTargetsPerUser }
    )
  })
})
export type Match = Static<typeof Targets.body>['allow'][number]
