import { type Static, Type } from 'typebox'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Endpoint, Resolved } from './endpoint.ts'

interface Deps extends Pick<Kernel, 'store'> {
  readonly endpoint: Endpoint
}

const url = '/v1/settings/advertised-endpoint'
const closed = { additionalProperties: false }
const Text = () => Type.Union([Type.String(), Type.Null()])

const Setting = Type.Object(
  {
    override: Text(),
    effective: Text(),
    source: Type.Union([
      Type.Literal('override'),
      Type.Literal('seed'),
      Type.Literal('loopback'),
      Type.Null()
    ]),
    diagnostic: Text()
  },
  closed
)
export type Setting = Static<typeof Setting>

const shown = ({ override, effective, source, fault }: Resolved): Setting => ({
  override,
  effective,
  source,
  diagnostic: fault && `${fault.errorCode.code}: ${fault.message}`
})

const read = defineRoute({
  method: 'GET',
  url,
  action: 'settings.read',
  access: 'superadmin',
  summary: 'The endpoint that enrollment URIs carry, and where it comes from.',
  schema: () => ({ reply: Setting }),
  run: async ({ endpoint, store }: Deps) => shown(await store.read(endpoint.resolve))
})

const update = defineRoute({
  method: 'PUT',
  url,
  action: 'settings.update',
  access: 'superadmin',
  summary: 'Sets the override, or clears it with null; what GET answered may be sent along and is ignored.',
  schema: () => ({
    body: Type.Object({ ...Type.Partial(Setting).properties, advertised_endpoint: Text() }, closed),
    reply: Setting
  }),
  run: async ({ endpoint }: Deps, { body, change }) =>
    shown(
      await change({ kind: 'settings', id: 'advertised-endpoint' }, em =>
        endpoint.setOverride(body.advertised_endpoint, em)
      )
    ),
  replay: async ({ endpoint, store }) => shown(await store.read(endpoint.resolve))
})

export const routes = [read, update]
