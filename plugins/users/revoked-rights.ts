import type { EntityManager } from '@mikro-orm/sql'
import type { User } from '../../kernel/identity/entities.ts'
import { noteRevoked } from '../../kernel/store/sql/store-watch.ts'

/** Records the change, so that a restored backup does not bring the old rights back. */
export const noteRevokedRights = ({ id, createdAt, role, disabled }: User, em: EntityManager): void =>
  noteRevoked(em, 'update kernel_user set role = ?, disabled = ? where id = ? and created_at = ?', [
    role,
    disabled,
    id,
    createdAt
  ])
