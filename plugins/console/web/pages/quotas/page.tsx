import { Button } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { useMe } from '../../api/me.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { NewQuota } from './NewQuota.tsx'
import { QuotaTable } from './QuotaTable.tsx'
import { useQuotas } from './quota.ts'

/** All quotas, and of a user without the role its own. */
export default function Quotas() {
  const me = useMe().data
  const mayChange = me?.role === 'superadmin'
  const quotas = useQuotas(mayChange ? null : (me?.user_id ?? ''))
  const [path, go] = useLocation()
  return (
    <>
      <Head title={text.pages.quotas}>
        {mayChange && (
          <Button component={Link} href="/quotas/new">
            {text.quotas.add}
          </Button>
        )}
      </Head>
      <Loaded query={quotas}>
        {all => <QuotaTable quotas={all} whose={mayChange ? 'all' : 'one'} mayChange={mayChange} />}
      </Loaded>
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
