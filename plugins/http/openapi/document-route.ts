import { Type } from 'typebox'
import { defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'

export const documentRoute = defineRoute({
  method: 'GET',
  url: '/v1/openapi.json',
  action: 'openapi.read',
  access: 'public',
  reply: 'constant',
  summary: 'Returns this document.',
  description: 'OpenAPI 3.1, made from the schemas that validate requests.',
  schema: () => ({
    reply: Type.Object({ openapi: Type.String({ description: 'Version of OpenAPI.', examples: ['3.1.1'] }) }),
    errors: []
  }),
  run: async ({ document }: Pick<Kernel, 'document'>) => document() as { openapi: string } // every OpenAPI document has it
})
