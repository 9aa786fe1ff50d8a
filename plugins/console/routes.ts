import { Type } from 'typebox'
import { Fault, notFound } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { defineList } from '../http/exports.ts'
import type { ChangeCounter } from './change-counter.ts'
import type { ConsoleSite } from './console-site.ts'
import type { PluginParts } from './plugin-parts.ts'
import { ChangeNumber, PartRow, StepRow } from './schema.ts'

export interface Deps {
  readonly changes: ChangeCounter
  readonly parts: PluginParts
  readonly site: ConsoleSite
}

const changes = defineRoute({
  method: 'GET',
  url: '/v1/changes',
  action: 'change.last',
  access: 'user',
  summary: 'Returns a number that differs after each change the user may see.',
  description: 'The console polls it each second; the call is cheap. Traffic counters are not changes.',
  schema: () => ({ reply: ChangeNumber, errors: [] }),
  run: async ({ changes, site }: Deps, { principal }) => ({
    last: await changes.numberFor(principal),
    pages: site.version
  })
})

const list = defineList({
  url: '/v1/console/parts',
  action: 'console.parts',
  access: 'user',
  summary: 'Lists the console pages and cards of plugins that the user may see.',
  schema: () => ({ row: PartRow, errors: [] }),
  run: async ({ parts }: Deps, { principal }) => parts.visibleTo(principal)
})

const steps = defineList({
  url: '/v1/console/steps',
  action: 'console.steps',
  access: 'public', // the sign-in page has no user yet
  summary: 'Lists the forms of plugins for further steps of the sign-in.',
  schema: () => ({ row: StepRow, errors: [] }),
  run: async ({ parts }: Deps) => [...parts.steps()]
})

const module = defineRoute({
  method: 'GET',
  url: '/v1/console/modules/:file',
  action: 'console.module',
  access: 'public', // a browser loads scripts without the session key
  summary: 'Returns the script of a page or card of a plugin.',
  description:
    'Only `GET /v1/console/parts` and `GET /v1/console/steps` show the names of the files, which cannot be guessed.',
  reply: 'media',
  schema: () => ({
    params: Type.Object({
      file: Type.String({
        maxLength: 120,
        description: 'The last part of `module` of a listed page or card.',
        examples: ['acme-idle-9f86d081884c7d65.js']
      })
    }),
    reply: Type.Unknown({ examples: ["customElements.define('acme-idle-page', AcmeIdlePage)"] }),
    errors: [notFound]
  }),
  async run({ parts }: Deps, { params: { file } }) {
    const body = parts.script(file)
    if (body === undefined) throw new Fault(notFound, `no plugin has the script ${file}: reload the page`)
    const headers = { 'cache-control': 'private, max-age=31536000, immutable' }
    return { type: 'text/javascript; charset=utf-8', body, headers }
  }
})

export const routes = [changes, list, steps, module]
