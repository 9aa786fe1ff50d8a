import { latest } from '../../kernel/base/clock.ts'
import { Fault } from '../../kernel/base/errors.ts'
import { resourceChanged } from '../http/exports.ts'
import { DeviceRequest } from './entities.ts'
import { type RequestDeps, unapprovedAt, unfetchedAt } from './request-rows.ts'

/** Deletes expired requests. Revokes the credentials of approved ones: no device has fetched their tokens. */
export async function sweepExpired({ store, clock, log, act, tokenGrants }: RequestDeps): Promise<void> {
  const now = latest(clock)
  await store.change(em => em.nativeDelete(DeviceRequest, unapprovedAt(now)))
  const unfetched = await store.read(em => em.find(DeviceRequest, unfetchedAt(now)))
  for (const request of unfetched)
    await withdraw(request).catch(error => {
      if (error instanceof Fault && error.errorCode === resourceChanged) return // another server was faster
      log.error('device_login.not_revoked', `a token that no device fetched is not revoked: ${error}`)
    })

  async function withdraw({ id, credentialId = null }: DeviceRequest): Promise<void> {
    const credential = credentialId ?? ''
    const isPending = await store.read(em => tokenGrants.isPending(em, credential))
    if (!isPending) return void (await store.change(em => em.nativeDelete(DeviceRequest, { id }))) // it is the user's
    await act('_system', 'credential.revoke', ({ change }) =>
      change({ kind: 'credential', id: credential }, async em => {
        await em.nativeDelete(DeviceRequest, { id })
        if (!(await tokenGrants.withdraw(em, credential)))
          throw new Fault(resourceChanged, `credential ${credential} was revoked at the same time`)
      })
    )
  }
}
