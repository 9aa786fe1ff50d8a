import type { Kernel } from '../../kernel/plugin.ts'
import { documentSchemaSlot, recordFields } from '../http/exports.ts'
import * as codes from './codes.ts'
import { documentBody, fieldsIn } from './schema.ts'
import { normalizeEntry } from './user-directory.ts'

/** Users in the document of `apply`. */
export const documentSchema = documentSchemaSlot.fillWith(({ filled }: Pick<Kernel, 'filled'>) => ({
  name: 'users',
  entry: () => documentBody(filled),
  normalize: entry => normalizeEntry(entry, filled),
  errors: () => [
    codes.invalidDisplayName,
    codes.invalidUserId,
    codes.reservedUserId,
    ...recordFields.errors(fieldsIn(filled))
  ],
  defaults: () => recordFields.absent(fieldsIn(filled))
}))
