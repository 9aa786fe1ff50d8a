import { Type } from '../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../kernel/cli/command.ts'

const url = '/v1/settings/advertised-endpoint'
const put = (api: Api, advertised_endpoint: string | null) =>
  api.call(`PUT ${url}`, { body: { advertised_endpoint } })

const show = defineCommand({
  name: 'settings show',
  summary: 'Show the endpoints of agents; enrollment URIs begin with the first.',
  run: async ({ api, print }) => print.data(await api.call(`GET ${url}`))
})

const set = defineCommand({
  name: 'settings set-endpoint',
  summary: 'Override the configured endpoints.',
  args: Type.Object({
    endpoint: Type.String({
      description: 'HOST:PORT that the server certificate covers; separate several by commas.'
    })
  }),
  positional: ['endpoint'],
  run: async ({ api, args, print }) => print.data(await put(api, args.endpoint))
})

const clear = defineCommand({
  name: 'settings clear-endpoint',
  summary: 'Clear the override and use the configured endpoint.',
  run: async ({ api, print }) => print.data(await put(api, null))
})

export const commands = [show, set, clear]
