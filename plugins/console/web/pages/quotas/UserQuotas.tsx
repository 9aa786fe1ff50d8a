import { SectionWithForm } from '../../parts/page/SectionWithForm.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { NewQuota } from './NewQuota.tsx'
import { QuotaTable } from './QuotaTable.tsx'
import { useQuotas } from './quota.ts'

/** Quotas of one user, for administrators. */
export function UserQuotas({ user }: { readonly user: string }) {
  const quotas = useQuotas(user)
  return (
    <SectionWithForm
      title={text.quotas.title}
      addLabel={text.quotas.add}
      form={close => <NewQuota user={user} onDone={close} />}
    >
      <QueryResult query={quotas}>{all => <QuotaTable quotas={all} users="one" mayChange />}</QueryResult>
    </SectionWithForm>
  )
}
