import { type Static, Type } from 'typebox'
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import { defineRoute, type Resource } from '../../kernel/http/route.ts'
import { closed, orNull } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { endpointsIn } from '../certificate/exports.ts'
import type { Endpoint, Resolved } from './endpoint.ts'
import type { EndpointAnnouncer } from './endpoint-announcer.ts'
import { Override } from './entities.ts'

interface Deps extends Pick<Kernel, 'store'> {
  readonly endpoint: Endpoint
  readonly endpointAnnouncer: EndpointAnnouncer
}

const url = '/v1/settings/advertised-endpoint'

const example = 'sluice.example.com:7443'
const hostAndPort = (description: string) => orNull(Type.String({ description, examples: [example] }))

const Setting = closed(
  {
    override: hostAndPort('The override; commas separate several endpoints. Null: not set.'),
    effective: hostAndPort(
      'The endpoint in enrollment URIs, the first of `endpoints`; null: see `diagnostic`.'
    ),
    endpoints: Type.Array(Type.String(), {
      description: 'The endpoints that agents try, each in a random order.',
      examples: [[example]]
    }),
    source: Type.Union(
      [Type.Literal('override'), Type.Literal('seed'), Type.Literal('loopback'), Type.Null()],
      { description: 'Source of `effective`; the seed is the configuration.' }
    ),
    diagnostic: orNull(Type.String(), {
      description: 'Reason why there is no effective endpoint.',
      examples: [null]
    })
  },
  { $id: 'AdvertisedEndpoint' }
)
type Setting = Static<typeof Setting>

const setting: Resource = {
  kind: 'settings',
  id: 'advertised-endpoint',
  version: async em => [(await em.findOne(Override, { id: 'override' }))?.endpoint]
}

const shown = ({ override, effective, endpoints, source, fault }: Resolved): Setting => ({
  override,
  effective,
  endpoints: [...endpoints],
  source,
  diagnostic: fault && `${fault.errorCode.code}: ${fault.message}`
})

const read = defineRoute({
  method: 'GET',
  url,
  action: 'settings.read',
  access: 'viewer',
  summary: 'Returns the endpoint in enrollment URIs, and its source.',
  schema: () => ({ reply: Setting, errors: [] }),
  record: () => setting,
  run: async ({ endpoint, store }: Deps) => shown(await store.read(endpoint.resolve))
})

const update = defineRoute({
  method: 'PUT',
  url,
  action: 'settings.update',
  access: 'superadmin',
  needsFresh: true,
  summary: 'Sets the endpoint in enrollment URIs.',
  description:
    'Sets the override, or clears it with null. The record may be sent back: its `override` is set, other fields are ignored.',
  schema: () => ({
    body: closed(
      {
        ...Type.Partial(Setting).properties,
        advertised_endpoint: Type.Optional(
          Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 32 }), Type.Null()], {
            description:
              'HOST:PORT at which agents reach the server; several in a list, or separated by commas; null clears. Default: `override`.',
            examples: [example]
          })
        )
      },
      { examples: [{ advertised_endpoint: example }] }
    ),
    reply: Setting
  }),
  async run({ endpoint, endpointAnnouncer, store }: Deps, { body, change }) {
    const { override, advertised_endpoint: given = override } = body
    if (given === undefined) throw missing()
    const endpoints = endpointsIn(given ?? [])
    await change(setting, em => endpoint.setOverride(endpoints, em))
    await endpointAnnouncer.announceToAll()
    return shown(await store.read(endpoint.resolve))
  },
  replay: async ({ endpoint, store }) => shown(await store.read(endpoint.resolve))
})

const missing = (): Fault =>
  new Fault(invalidSchema, '/advertised_endpoint is required: HOST:PORT, or null to clear the override', {
    details: { field: '/advertised_endpoint', reason: 'required' }
  })

export const routes = [read, update]
