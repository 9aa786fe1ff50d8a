import { Button } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { useMe } from '../../api/me.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { PageHead } from '../../parts/PageHead.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { NewQuota } from './NewQuota.tsx'
import { QuotaTable } from './QuotaTable.tsx'
import { useQuotas } from './quota.ts'

/** All quotas for superadmins, own quotas for other users. */
export default function Quotas() {
  const me = useMe().data
  const mayChange = me?.role === 'superadmin'
  const quotas = useQuotas(mayChange ? null : (me?.user_id ?? ''))
  const [path, go] = useLocation()
  return (
    <>
      <PageHead title={text.pages.quotas}>
        {mayChange && (
          <Button component={Link} href="/quotas/new">
            {text.quotas.add}
          </Button>
        )}
      </PageHead>
      <QueryResult query={quotas}>
        {all => <QuotaTable quotas={all} users={mayChange ? 'all' : 'one'} mayChange={mayChange} />}
      </QueryResult>
      <Dialog
        isOpen={mayChange && path === '/quotas/new'}
        onClose={() => go('/quotas')}
        title={text.quotas.add}
      >
        <NewQuota user={null} onDone={() => go('/quotas')} />
      </Dialog>
    </>
  )
}
