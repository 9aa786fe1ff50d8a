import { Button } from '@mantine/core'
import { useState } from 'react'
import { Dialog } from '../../parts/Dialog.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { text } from '../../text/text.ts'
import { NewQuota } from './NewQuota.tsx'
import { QuotaTable } from './QuotaTable.tsx'
import { useQuotas } from './quota.ts'

/** Quotas of one user, for administrators. */
export function UserQuotas({ user }: { readonly user: string }) {
  const quotas = useQuotas(user)
  const [isAdding, add] = useState(false)
  return (
    <Section
      title={text.quotas.title}
      actions={
        <Button variant="default" size="xs" onClick={() => add(true)}>
          {text.quotas.add}
        </Button>
      }
    >
      <QueryResult query={quotas}>{all => <QuotaTable quotas={all} users="one" mayChange />}</QueryResult>
      <Dialog isOpen={isAdding} onClose={() => add(false)} title={text.quotas.add}>
        <NewQuota user={user} onDone={() => add(false)} />
      </Dialog>
    </Section>
  )
}
