import type { EntityManager } from '@mikro-orm/sql'
import { stackOf } from '../../../kernel/base/errors.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'

/**
 * Runs a listener of a plugin in a savepoint of the change: it cannot prevent the change. If it throws, only its own writes
 * are rolled back, and `report` gets the error's stack after the commit.
 */
export const withoutVeto = (
  em: EntityManager,
  listener: (em: EntityManager) => Promise<unknown>,
  report: (stack: string) => void
): Promise<void> =>
  em.transactional(listener).then(
    () => {},
    (error: unknown) => afterCommit(em, () => report(stackOf(error)))
  )
