import { Type } from 'typebox'
import { invalidTimeRange } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { AuditLog } from './audit-log.ts'
import type { keys } from './retention.ts'
import { EntryRow, Page, Query } from './schema.ts'

export interface RouteDeps extends Kernel<typeof keys> {
  readonly auditLog: AuditLog
}

/** Returns an array, the older shape, or a page if `since`, `until` or `cursor` is given. */
const list = defineRoute({
  method: 'GET',
  url: '/v1/audit',
  action: 'audit.list',
  access: 'viewer',
  summary: 'Lists changes and refusals, with their actors.',
  description: 'Newest first. Returns an array, or a page if since, until or cursor is given.',
  schema: () => ({
    query: Query,
    reply: Type.Union([Type.Array(EntryRow), Page]),
    errors: [invalidTimeRange]
  }),
  async run({ auditLog }: RouteDeps, { query }) {
    const page = await auditLog.page(query)
    const isPage = query.since !== undefined || query.until !== undefined || query.cursor !== undefined
    return isPage ? page : page.entries
  }
})

export const routes = [list]
