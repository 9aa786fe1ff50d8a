// What the bodies of PUT, of a definition and of PATCH have in common.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { immutableField } from '../codes.ts'
import type { Rule } from '../entities.ts'

/** Any valid rule: what is wrong with a patch of it is wrong for every rule. */
export const anyRule = { listen_port: 1, targets: [{ host: '192.0.2.1', port: 1 }] }

/** Returns the rule as a request of its create, without its fields. */
export const bodyOf = ({ protocol, listenFrom, listenTo, targets, preferIpv6, paused }: Rule) => ({
  protocol,
  listen_port: listenFrom,
  listen_port_end: listenTo > listenFrom ? listenTo : null,
  targets: [...targets],
  prefer_ipv6: preferIpv6,
  paused
})

export const isClient = async ({ clientId: id }: Rule, client: string, em: EntityManager): Promise<boolean> =>
  client === id || (await em.count(Client, { id, name: client })) > 0

export const immutable = (property: string): Fault =>
  new Fault(
    immutableField,
    `/${property} cannot change${isFixed(property) ? '; remove the rule and create another' : ' by PUT; PATCH changes it'}`,
    { details: { field: `/${property}`, reason: 'immutable' } }
  )

const isFixed = (property: string): boolean => ['client', 'protocol', 'owner'].includes(property)
