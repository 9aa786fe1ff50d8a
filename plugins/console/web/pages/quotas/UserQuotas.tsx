import { useRight } from '../../api/rights.ts'
import { SectionWithForm } from '../../parts/page/SectionWithForm.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { NewQuota } from './NewQuota.tsx'
import { QuotaTable } from './QuotaTable.tsx'
import { useQuotas } from './quota.ts'

/** Quotas of one user, for those who see all. */
export function UserQuotas({ user }: { readonly user: string }) {
  const quotas = useQuotas(user)
  const mayChange = useRight('managesAll')
  return (
    <SectionWithForm
      title={text.quotas.title}
      addLabel={text.quotas.add}
      mayAdd={mayChange}
      form={close => <NewQuota user={user} onDone={close} />}
    >
      <QueryResult query={quotas}>
        {all => <QuotaTable quotas={all} users="one" mayChange={mayChange} />}
      </QueryResult>
    </SectionWithForm>
  )
}
