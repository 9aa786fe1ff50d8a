import { Type } from 'typebox'
import { Fault, notFound } from '../../kernel/base/errors.ts'
import { defineList } from '../../kernel/http/list-route.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Changes } from './change-counter.ts'
import type { Console } from './console-site.ts'
import type { Parts } from './plugin-parts.ts'
import { PartRow, Seen } from './schema.ts'

export interface Deps {
  readonly changes: Changes
  readonly parts: Parts
  readonly site: Console
}

const changes = defineRoute({
  method: 'GET',
  url: '/v1/changes',
  action: 'change.last',
  access: 'user',
  summary: 'Tells whether something has changed that the caller may see.',
  description: 'Cheap: the pages of the console ask each second. Counters of traffic are no change.',
  schema: () => ({ reply: Seen, errors: [] }),
  run: async ({ changes, site }: Deps, { principal }) => ({
    last: await changes.seenBy(principal),
    pages: site.version
  })
})

const list = defineList({
  url: '/v1/console/parts',
  action: 'console.parts',
  access: 'user',
  summary: 'Lists the pages and cards that plugins add to the console, for the caller.',
  schema: () => ({ row: PartRow, errors: [] }),
  run: async ({ parts }: Deps, { principal }) => parts.seenBy(principal)
})

const module = defineRoute({
  method: 'GET',
  url: '/v1/console/modules/:file',
  action: 'console.module',
  access: 'user',
  summary: 'The script of such a page or card.',
  reply: 'media',
  schema: () => ({
    params: Type.Object({
      file: Type.String({
        maxLength: 120,
        description: 'As the list has it.',
        examples: ['acme-idle-9f86d081884c7d65.js']
      })
    }),
    reply: Type.Unknown({ examples: ["customElements.define('acme-idle-page', AcmeIdlePage)"] }),
    errors: [notFound]
  }),
  async run({ parts }: Deps, { params: { file } }) {
    const body = parts.module(file)
    if (body === undefined) throw new Fault(notFound, `no plugin has the script ${file}; reload the page`)
    const headers = { 'cache-control': 'private, max-age=31536000, immutable' }
    return { type: 'text/javascript; charset=utf-8', body, headers }
  }
})

export const routes = [changes, list, module]
