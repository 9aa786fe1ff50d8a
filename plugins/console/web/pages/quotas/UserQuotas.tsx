import { Button } from '@mantine/core'
import { useState } from 'react'
import { Dialog } from '../../parts/Dialog.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { text } from '../../text/text.ts'
import { NewQuota } from './NewQuota.tsx'
import { QuotaTable } from './QuotaTable.tsx'
import { useQuotas } from './quota.ts'

/** The quotas of one user, for administrators. */
export function QuotasOf({ user }: { readonly user: string }) {
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
      <Loaded query={quotas}>{all => <QuotaTable quotas={all} whose="one" mayChange />}</Loaded>
      <Dialog isOpen={isAdding} onClose={() => add(false)} title={text.quotas.add}>
        <NewQuota user={user} onDone={() => add(false)} />
      </Dialog>
    </Section>
  )
}
