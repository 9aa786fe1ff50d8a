// The endpoint of a client: the port and the hosts at which it listens for links. It is the property `link` of a client.

import type { EntityManager } from '@mikro-orm/sql'
import { type Static, Type } from 'typebox'
import { Fault } from '../../kernel/base/errors.ts'
import { closed, orNull } from '../../kernel/http/schema.ts'
import { Client } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { isBareHost } from '../clients/exports.ts'
import { openHasRows, type RecordField, seesAll } from '../http/exports.ts'
import { type PortReservation, portInUse, type Rules } from '../rules/exports.ts'
import { invalidLink } from './codes.ts'
import { LinkEndpoint } from './entities.ts'

const defaultPort = 7444
const maxHosts = 8

const code = invalidLink.code

const portDescription = 'The client listens on this TCP and UDP port.'
const Port = Type.Integer({
  minimum: 1,
  maximum: 65_535,
  code,
  description: portDescription,
  examples: [7444]
})

/** The hosts of an endpoint or of a link, in requests and replies. */
export const Hosts = Type.Array(
  Type.String({ minLength: 1, maxLength: 253, code, description: 'DNS name or IP address.' }),
  { minItems: 1, maxItems: maxHosts, code, examples: [['paris.example.net']] }
)

const hostsDescription =
  'Hosts to dial, in this order. Null: the address of the client, else the address that the server sees.'

const readOnly = {
  effective_hosts: Type.Array(Type.String(), {
    description: 'The hosts that are dialed now; empty while none is known.',
    examples: [['paris.example.net']]
  }),
  guessed: Type.Boolean({
    description: 'True if the host is the address that the server sees, because no other is known.'
  })
}

const example = { port: 7444, hosts: ['paris.example.net'] }

const Shown = orNull(
  closed(
    { port: Port, hosts: orNull(Hosts, { description: hostsDescription }), ...readOnly },
    { $id: 'ClientLink' }
  ),
  {
    description: 'Where the client listens for links; null: never. Users read null.',
    examples: [{ ...example, effective_hosts: example.hosts, guessed: false }]
  }
)
type Shown = Static<typeof Shown>

/** The settings of an endpoint in requests and documents. */
export const EndpointSettings = Type.Object({
  port: Type.Optional({ ...Port, description: `${portDescription} Default ${defaultPort}.` }),
  hosts: Type.Optional(orNull(Hosts, { code, description: hostsDescription }))
})

const Given = orNull(
  closed(
    {
      ...EndpointSettings.properties,
      effective_hosts: Type.Optional({ ...readOnly.effective_hosts, description: 'Ignored.' }),
      guessed: Type.Optional({ ...readOnly.guessed, description: 'Ignored.' })
    },
    { code }
  ),
  {
    code,
    description: 'Where the client listens for links; null: never. The port is reserved on the client.',
    examples: [example]
  }
)
type Given = Static<typeof Given>

/** An endpoint as it is stored. */
interface Endpoint {
  readonly port: number
  readonly hosts: readonly string[] | null
}

/** Returns the hosts without repetitions. Throws `validation.link`; `field` is the JSON pointer of the list. */
export function parseHosts(hosts: readonly string[], field: string): string[] {
  for (const [at, host] of hosts.entries())
    if (!isBareHost(host)) {
      const place = `${field}/${at}`
      throw new Fault(invalidLink, `${place} is not a DNS name or an IP address without a port: ${host}`, {
        details: { field: place, reason: 'host' }
      })
    }
  return [...new Set(hosts)]
}

/** Returns the endpoint with defaults. Throws `validation.link`. */
export function parseEndpoint(given: Static<typeof EndpointSettings>, field = ''): Endpoint {
  const { port = defaultPort, hosts = null } = given
  return { port, hosts: hosts && parseHosts(hosts, `${field}/hosts`) }
}

/** The hosts of a client that are dialed now. */
export interface EffectiveHosts {
  readonly hosts: readonly string[]
  readonly isGuessed: boolean
}

export function effectiveHosts(
  endpoint: Endpoint,
  { address, remoteAddr }: Pick<Client, 'address' | 'remoteAddr'>
): EffectiveHosts {
  if (endpoint.hosts) return { hosts: endpoint.hosts, isGuessed: false }
  const known = address ?? null
  if (known !== null) return { hosts: [known], isGuessed: false }
  return { hosts: remoteAddr ? [remoteAddr] : [], isGuessed: Boolean(remoteAddr) }
}

interface Deps {
  readonly rules: Pick<Rules, 'holderOf'>
}

/** The property `link` of a client. The slot `clients.changed` sends a change to the neighbors. */
export const endpointField = ({ rules }: Deps): RecordField => ({
  key: 'link',
  shown: Shown,
  given: Given,
  patch: Given,
  absent: null,
  errors: [invalidLink, portInUse],
  isShownTo: seesAll,
  parse(given): Endpoint | null {
    const endpoint = given as Given // by the schema
    return endpoint === null ? null : parseEndpoint(endpoint, '/link')
  },
  async load(ids, em) {
    const found = await em.find(LinkEndpoint, { clientId: { $in: [...ids] } })
    return new Map(found.map(({ clientId, port, hosts }) => [clientId, { port, hosts: hosts ?? null }]))
  },
  async view(values, em) {
    const clients = await em.find(
      Client,
      { id: { $in: [...values.keys()] } },
      { fields: ['address', 'remoteAddr'] }
    )
    return new Map(
      clients.map(client => {
        const { port, hosts } = values.get(client.id) as Endpoint // by `load`
        const effective = effectiveHosts({ port, hosts }, client)
        const shown: Shown = {
          port,
          hosts: hosts && [...hosts],
          effective_hosts: [...effective.hosts],
          guessed: effective.isGuessed
        }
        return [client.id, shown]
      })
    )
  },
  async save(clientId, value, em) {
    const endpoint = value as Endpoint | null // by `parse`
    if (endpoint === null) return void (await em.nativeDelete(LinkEndpoint, { clientId }))
    await requireFreePort(clientId, endpoint.port, rules, em)
    await em.upsert(LinkEndpoint, { clientId, ...endpoint })
  },
  async remove(ids, em) {
    await em.nativeDelete(LinkEndpoint, { clientId: { $in: [...ids] } })
  }
})

async function requireFreePort(
  clientId: string,
  port: number,
  rules: Pick<Rules, 'holderOf'>,
  em: EntityManager
): Promise<void> {
  const rule_id = await rules.holderOf(clientId, port, em)
  if (rule_id !== null)
    throw new Fault(portInUse, `rule ${rule_id} has port ${port} of this client`, {
      details: { port, rule_id }
    })
}

/** Rules must not have the port of their client's endpoint. */
export function openPortReservation({ store }: Pick<Kernel, 'store'>): PortReservation {
  const hasEndpoints = openHasRows(store, LinkEndpoint)
  return {
    async load(clientIds, em) {
      if (!(await hasEndpoints(em))) return new Map()
      const found = await em.find(LinkEndpoint, { clientId: { $in: [...clientIds] } })
      return new Map(found.map(({ clientId, port }) => [clientId, [port]]))
    }
  }
}
