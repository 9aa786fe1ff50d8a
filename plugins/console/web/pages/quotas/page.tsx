import { useMe } from '../../api/me.ts'
import { useRight } from '../../api/rights.ts'
import { ListPage } from '../../parts/page/ListPage.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { NewQuota } from './NewQuota.tsx'
import { QuotaTable } from './QuotaTable.tsx'
import { useQuotas } from './quota.ts'

/** All quotas for those who see all, own quotas for others. */
export default function Quotas() {
  const me = useMe().data
  const seesAll = useRight('seesAll')
  const mayChange = useRight('managesAll')
  const quotas = useQuotas(seesAll ? null : (me?.user_id ?? ''))
  return (
    <ListPage
      path="/quotas"
      title={text.pages.quotas}
      addLabel={text.quotas.add}
      mayAdd={mayChange}
      form={go => <NewQuota user={null} onDone={() => go('/quotas')} />}
    >
      {() => (
        <QueryResult query={quotas}>
          {all => <QuotaTable quotas={all} users={seesAll ? 'all' : 'one'} mayChange={mayChange} />}
        </QueryResult>
      )}
    </ListPage>
  )
}
