import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { rows } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { SectionWithForm } from '../../parts/page/SectionWithForm.tsx'
import { RowMenu } from '../../parts/RowMenu.tsx'
import { actionsColumn } from '../../parts/table/columns.tsx'
import { QueryTable } from '../../parts/table/QueryTable.tsx'
import { text } from '../../text/text.ts'
import { DeleteGrant } from './DeleteGrant.tsx'
import { EditGrant } from './EditGrant.tsx'
import { type Grant, grantColumns, nameOf } from './grant-columns.tsx'
import { NewGrant } from './NewGrant.tsx'
import type { User } from './queries.ts'

interface OpenDialog {
  readonly what: 'edit' | 'delete'
  readonly grant: Grant
}

/** Grants of a user, for those who see all. */
export function UserGrants({ user, role }: { readonly user: string; readonly role: User['role'] }) {
  const grants = useQuery({
    queryKey: ['grants', user],
    queryFn: () => rows('GET /v1/grants', { query: { user_id: user } })
  })
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const mayChange = useRight('managesUsers')
  const close = (): void => setDialog(null)
  const actions = (grant: Grant) => (
    <RowMenu
      row={nameOf(grant)}
      actions={[
        { label: text.edit, run: () => setDialog({ what: 'edit', grant }) },
        { label: text.delete, run: () => setDialog({ what: 'delete', grant }), isDangerous: true }
      ]}
    />
  )
  return (
    <SectionWithForm
      title={text.grants.title}
      addLabel={text.grants.add}
      mayAdd={mayChange}
      form={close => <NewGrant user={user} onDone={close} />}
    >
      <QueryTable
        query={grants}
        name="grants"
        what={text.grants.what}
        columns={mayChange ? [...grantColumns, actionsColumn(actions, 4.5)] : grantColumns}
        idOf={({ grant_id }) => grant_id}
        empty={text.grants.none[role]}
      />
      <Dialog isOpen={dialog?.what === 'edit'} onClose={close} title={text.grants.editTitle}>
        {dialog?.what === 'edit' && <EditGrant grant={dialog.grant} onDone={close} />}
      </Dialog>
      {dialog?.what === 'delete' && <DeleteGrant grant={dialog.grant} onClose={close} />}
    </SectionWithForm>
  )
}
