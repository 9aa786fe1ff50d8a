import type { Kernel } from '../../kernel/plugin.ts'
import { type DocumentSchema, recordFields } from '../http/exports.ts'
import { normalizeGrant } from './parse-grant.ts'
import { bodyErrors } from './routes.ts'
import { type CreateBody, createBody, fieldsIn } from './schema.ts'

/** Grants in the document of `apply`. */
export const documentSchema = ({ filled }: Pick<Kernel, 'filled'>): DocumentSchema => ({
  name: 'grants',
  entry: () => createBody(filled),
  normalize: entry => normalizeGrant(entry as CreateBody, filled), // by the schema
  errors: () => bodyErrors(filled),
  defaults: () => recordFields.absent(fieldsIn(filled))
})
