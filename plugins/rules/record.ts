// A rule as JSON.
import { type Static, Type } from 'typebox'
import { orNull, Time } from '../../kernel/http/schema.ts'

export const Port = Type.Integer({ minimum: 1, maximum: 65535 })
export const Priority = Type.Integer({ minimum: 0, maximum: 65535 })

/** The record without fields of other plugins. */
export const CoreRecord = Type.Object({
  rule_id: Type.String(),
  client_id: Type.String(),
  client_name: Type.String(),
  listen_port: Port,
  listen_port_end: orNull(Port),
  protocol: Type.Union([Type.Literal('tcp'), Type.Literal('udp')]),
  targets: Type.Array(
    Type.Object({
      host: Type.String(),
      port: Port,
      port_end: orNull(Port),
      priority: Priority
    })
  ),
  prefer_ipv6: Type.Boolean(),
  owner: Type.String(),
  placed_by: Type.String({ description: 'The owner, or a superadmin: then grants do not limit the rule.' }),
  state: Type.Union([
    Type.Literal('pending'),
    Type.Literal('active'),
    Type.Literal('failed'),
    Type.Literal('draining')
  ]),
  state_reason: orNull(Type.String()),
  created_at: Time,
  updated_at: Time,
  state_changed_at: Time
})

/** Values of rule fields by key; their types are known to the plugins that own them. */
export type Values = Readonly<Record<string, unknown>>

export type RuleRecord = Static<typeof CoreRecord> & Values
