// Made by npm run openapi from the OpenAPI document.
export interface paths {
    "/v1/apply-checks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Judges the entries of a document, and changes nothing
         * @description By their form alone: whether ports are free and grants suffice is judged when the objects are made. A long document is sent in parts.
         *
         *     Access: every user, for what he may see.
         */
        post: operations["apply.check"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apply-kinds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the kinds of objects that a document may have
         * @description Lists the kinds of objects that a document may have.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["apply.kinds"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apply-leases": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Takes a lease for applying a document
         * @description There is one for each user, and one for all superadmins together.
         *
         *     Access: every user, for what he may see.
         */
        post: operations["apply.begin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/apply-leases/{lease_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Renews the lease
         * @description Renews the lease.
         *
         *     Access: every user, for what he may see.
         */
        put: operations["apply.renew"];
        post?: never;
        /**
         * Ends the lease
         * @description Ends the lease.
         *
         *     Access: every user, for what he may see.
         */
        delete: operations["apply.end"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists who changed what, and who was refused
         * @description The newest first. An array, or a page if since, until or cursor is given.
         *
         *     Access: superadmins.
         */
        get: operations["audit.list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Opens a web session
         * @description Checks a password and sets the cookie `svc_session`.
         *
         *     Access: public, without a credential.
         */
        post: operations["auth.login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ends the web session of the cookie
         * @description Ends the web session of the cookie.
         *
         *     Access: every user, for what he may see.
         */
        post: operations["auth.logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/onboarding": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Creates the first administrator
         * @description Takes the setup token from the log of the server. A login must follow.
         *
         *     Access: public, without a credential.
         */
        post: operations["auth.onboard"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tells whether the first administrator must still be created
         * @description Tells whether the first administrator must still be created.
         *
         *     Access: public, without a credential.
         */
        get: operations["auth.status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the sources that are banned, or were, the newest first
         * @description Lists the sources that are banned, or were, the newest first.
         *
         *     Access: superadmins.
         */
        get: operations["ban.list"];
        put?: never;
        /**
         * Bans a source from a rule, from a client, or from every client there is
         * @description A client that is away has the ban when it comes back.
         *
         *     Access: superadmins.
         */
        post: operations["ban.create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/bans/{ban_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Lifts a ban that is in force
         * @description Lifts a ban that is in force.
         *
         *     Access: superadmins.
         */
        delete: operations["ban.lift"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns a number that differs after each change the caller may see
         * @description The console polls it each second; the call is cheap. Traffic counters are not changes.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["change.last"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/client-enrollments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the codes that can still be redeemed
         * @description Lists the codes that can still be redeemed.
         *
         *     Access: superadmins.
         */
        get: operations["enrollment.list"];
        put?: never;
        /**
         * Makes a one-time code for a new client
         * @description The client exists once the code is redeemed, by the command of the reply.
         *
         *     Access: superadmins.
         */
        post: operations["enrollment.create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/client-enrollments/{enrollment_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Cancels an unused code
         * @description Cancels an unused code.
         *
         *     Access: superadmins.
         */
        delete: operations["enrollment.cancel"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clients": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the clients that the caller may see
         * @description Lists the clients that the caller may see.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["client.list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clients/{client_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns one client
         * @description Returns one client.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["client.read"];
        /**
         * Sets the public address of a client
         * @description Sets the host at which the forwarded ports are reached; null clears it. Other fields of the record may be sent back and are ignored.
         *
         *     Access: superadmins.
         */
        put: operations["client.update"];
        post?: never;
        /**
         * Deletes a revoked client
         * @description Rules, quotas, limits and grants of the client go with it.
         *
         *     Access: superadmins.
         */
        delete: operations["client.delete"];
        options?: never;
        head?: never;
        /**
         * Changes a client
         * @description Absent fields stay. The id, the rules and the control stream of the client do not change.
         *
         *     Access: superadmins.
         */
        patch: operations["client.change"];
        trace?: never;
    };
    "/v1/clients/{client_id}/enrollment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes a one-time code for an existing client
         * @description The code gives the client a new token. Its older unused codes become invalid.
         *
         *     Access: superadmins.
         */
        post: operations["enrollment.renew"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clients/{client_id}/name": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Renames a client
         * @description The id, the rules and the control stream of the client do not change.
         *
         *     Access: superadmins.
         */
        patch: operations["client.rename"];
        trace?: never;
    };
    "/v1/clients/{client_id}/owners": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the owners that have rules or a rate limit on a client
         * @description Lists the owners that have rules or a rate limit on a client.
         *
         *     Access: superadmins.
         */
        get: operations["owner_rate_limit.owners"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clients/{client_id}/owners/{owner_id}/rate-limit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the limits for all rules of an owner on a client together
         * @description Returns the limits for all rules of an owner on a client together.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["owner_rate_limit.read"];
        /**
         * Limits all rules of an owner on a client together, open connections included
         * @description Limits all rules of an owner on a client together, open connections included.
         *
         *     Access: superadmins.
         */
        put: operations["owner_rate_limit.set"];
        post?: never;
        /**
         * Removes the limits of an owner on a client
         * @description Removes the limits of an owner on a client.
         *
         *     Access: superadmins.
         */
        delete: operations["owner_rate_limit.delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clients/{client_id}/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the quotas on a client
         * @description Lists the quotas on a client.
         *
         *     Access: superadmins.
         */
        get: operations["quota.list-client"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clients/{client_id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revokes a client
         * @description Revokes the token and ends the control stream of its agent. A re-enrollment lifts the revocation.
         *
         *     Access: superadmins.
         */
        post: operations["client.revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clients/{client_id}/traffic": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns what a client has forwarded, by minute or hour
         * @description Returns what a client has forwarded, by minute or hour.
         *
         *     Access: superadmins.
         */
        get: operations["traffic.of-client"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clients/{client_id}/under-attack": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Turns the switch "under attack" on for a client; where it is on, it begins anew
         * @description Limits for each source are a quarter of what rules have, the thresholds of bans, too; rules without one get the numbers of the body. UDP rules reply with at most 3 times what was asked. It ends by itself; a client that is away has it when it comes back.
         *
         *     Access: superadmins.
         */
        put: operations["under_attack.on"];
        post?: never;
        /**
         * Turns the switch "under attack" off for a client
         * @description Turns the switch "under attack" off for a client.
         *
         *     Access: superadmins.
         */
        delete: operations["under_attack.off"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists what is open now: TCP connections and UDP flows
         * @description Asked of the connected clients; one that does not answer within 3 s is left out. Users see those of their own rules.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["connection.list"];
        put?: never;
        post?: never;
        /**
         * Closes the connections and flows that a filter matches
         * @description At least one filter. Users close those of their own rules only.
         *
         *     Access: every user, for what he may see.
         */
        delete: operations["connection.close-all"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connections/{connection_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Closes a connection or flow: both sides are reset
         * @description Closes a connection or flow: both sides are reset.
         *
         *     Access: every user, for what he may see.
         */
        delete: operations["connection.close"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connections/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Streams what is open now, as the list has it
         * @description Event `connections`, at most one a second: the first rows, the sums of all that match, and which clients have not answered.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["connection.stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/console/modules/{file}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the script of a page or card of a plugin
         * @description Returns the script of a page or card of a plugin.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["console.module"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/console/parts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the console pages and cards of plugins that the caller may see
         * @description Lists the console pages and cards of plugins that the caller may see.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["console.parts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tells what becomes of a caller of a port, and what decides it
         * @description Users see what their own rules do; a port of others is one without a rule. A probe and a test byte are in the audit log: they reach the targets of the rule, and nothing else.
         *
         *     Access: every user, for what he may see.
         */
        post: operations["rule.explain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists grants
         * @description Lists grants.
         *
         *     Access: superadmins.
         */
        get: operations["grant.list"];
        put?: never;
        /**
         * Lets a user create rules on a client, or on all
         * @description Lets a user create rules on a client, or on all.
         *
         *     Access: superadmins.
         */
        post: operations["grant.create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/grants/{grant_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns one grant
         * @description Returns one grant.
         *
         *     Access: superadmins.
         */
        get: operations["grant.read"];
        put?: never;
        post?: never;
        /**
         * Deletes a grant
         * @description Rules that no other grant allows go with it; the reply lists them.
         *
         *     Access: superadmins.
         */
        delete: operations["grant.delete"];
        options?: never;
        head?: never;
        /**
         * Changes what is noted of a grant
         * @description Absent fields stay. What the grant allows does not change.
         *
         *     Access: superadmins.
         */
        patch: operations["grant.change"];
        trace?: never;
    };
    "/v1/installer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the hash of /install.sh, and for which machines it installs
         * @description Returns the hash of /install.sh, and for which machines it installs.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["installer.read"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the page that /metrics on metrics_listen serves
         * @description Returns the page that /metrics on metrics_listen serves.
         *
         *     Access: superadmins.
         */
        get: operations["metrics.read"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns this document
         * @description OpenAPI 3.1, made from the schemas that validate requests.
         *
         *     Access: public, without a credential.
         */
        get: operations["openapi.read"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plugins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the plugins of this server, with their settings and what each may do
         * @description Strings in settings of external plugins are hidden, since they may be secrets.
         *
         *     Access: superadmins.
         */
        get: operations["plugin.list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists all quotas, by client and user
         * @description Lists all quotas, by client and user.
         *
         *     Access: superadmins.
         */
        get: operations["quota.list-all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists rules
         * @description Rules that the caller owns; all rules for a superadmin.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["rule.list"];
        put?: never;
        /**
         * Creates a rule
         * @description Answers when the client forwards it. If no answer comes in time, the rule stays and settles by itself (504).
         *
         *     Access: every user, for what he may see.
         */
        post: operations["rule.create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/{rule_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns one rule
         * @description Returns one rule.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["rule.read"];
        /**
         * Changes a rule while it runs
         * @description Changes hot fields, such as `rate_limit`, and answers when the client has applied them. The body is the whole rule, or hot fields alone.
         *
         *     Access: every user, for what he may see.
         */
        put: operations["rule.update"];
        post?: never;
        /**
         * Deletes a rule
         * @description Closes the port; live connections may drain. Answers when the client has closed it.
         *
         *     Access: every user, for what he may see.
         */
        delete: operations["rule.delete"];
        options?: never;
        head?: never;
        /**
         * Edits a rule while it runs
         * @description A JSON Merge Patch (RFC 7396): all but client, protocol and owner may change, and live connections go on. Answers when the client has applied it; one that is not connected applies it when it is back.
         *
         *     Access: every user, for what he may see.
         */
        patch: operations["rule.patch"];
        trace?: never;
    };
    "/v1/rules/{rule_id}/definition": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Replaces the definition of a rule
         * @description Replaces all but client, owner, protocol and ports. The old rule stays until the client has the new one.
         *
         *     Access: every user, for what he may see.
         */
        put: operations["rule.replace"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/{rule_id}/journal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists what has happened to a rule, and why
         * @description The newest first: states, failovers, targets, limits, quotas, its edge, and changes.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["rule.journal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/{rule_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Closes the port of a rule, and keeps the port for it
         * @description Closes the port of a rule, and keeps the port for it.
         *
         *     Access: every user, for what he may see.
         */
        post: operations["rule.pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/{rule_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Opens the port of a paused rule again
         * @description Opens the port of a paused rule again.
         *
         *     Access: every user, for what he may see.
         */
        post: operations["rule.resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/{rule_id}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns what a rule has forwarded so far
         * @description Returns what a rule has forwarded so far.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["rule.stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/{rule_id}/stats/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Streams what a rule has forwarded
         * @description Event `stats` at once and every 5 s, `removed` when the rule is deleted.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["rule.stats-stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Changes many rules
         * @description Pauses, resumes, deletes or patches up to 1000 rules, each on its own or all together, and answers when their clients have. Each change has its entry in the audit log, with the id of this request.
         *
         *     Access: every user, for what he may see.
         */
        post: operations["rule.bulk"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the servers of the store
         * @description One that was not seen for 60 s is not listed. With SQLite there is one.
         *
         *     Access: superadmins.
         */
        get: operations["server.list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings/advertised-endpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the endpoint in enrollment URIs, and its source
         * @description Returns the endpoint in enrollment URIs, and its source.
         *
         *     Access: superadmins.
         */
        get: operations["settings.read"];
        /**
         * Sets the endpoint in enrollment URIs
         * @description Sets the override, or clears it with null. Other fields of the record may be sent back and are ignored.
         *
         *     Access: superadmins.
         */
        put: operations["settings.update"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings/certificate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the certificate that agents pin, and how far a rotation is
         * @description It is changed by `sluice cert` while the server is stopped.
         *
         *     Access: superadmins.
         */
        get: operations["certificate.read"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/source-lists": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the lists of sources that rules may name
         * @description Lists the lists of sources that rules may name.
         *
         *     Access: superadmins.
         */
        get: operations["source_list.list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/source-lists/{list_name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns a list of sources with its entries
         * @description Returns a list of sources with its entries.
         *
         *     Access: superadmins.
         */
        get: operations["source_list.read"];
        /**
         * Makes or replaces a list of sources
         * @description Rules that name it judge new callers by it, and end what is no longer allowed, as soon as their clients have it.
         *
         *     Access: superadmins.
         */
        put: operations["source_list.set"];
        post?: never;
        /**
         * Deletes a list of sources that no rule names
         * @description Deletes a list of sources that no rule names.
         *
         *     Access: superadmins.
         */
        delete: operations["source_list.delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stats/summary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns counts and sums of everything that the caller may see
         * @description Returns counts and sums of everything that the caller may see.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["stats.summary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/traffic/global": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns what all rules have forwarded, by minute or hour
         * @description Returns what all rules have forwarded, by minute or hour.
         *
         *     Access: superadmins.
         */
        get: operations["traffic.of-all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/under-attack": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists where the switch "under attack" is on
         * @description Lists where the switch "under attack" is on.
         *
         *     Access: superadmins.
         */
        get: operations["under_attack.list"];
        /**
         * Turns the switch "under attack" on for all clients, and for those that enroll while it is on
         * @description Limits for each source are a quarter of what rules have, the thresholds of bans, too; rules without one get the numbers of the body. UDP rules reply with at most 3 times what was asked. It ends by itself; a client that is away has it when it comes back.
         *
         *     Access: superadmins.
         */
        put: operations["under_attack.on_for_all"];
        post?: never;
        /**
         * Turns the switch "under attack" off wherever it is on
         * @description Turns the switch "under attack" off wherever it is on.
         *
         *     Access: superadmins.
         */
        delete: operations["under_attack.off_for_all"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists all users
         * @description Lists all users.
         *
         *     Access: superadmins.
         */
        get: operations["user.list"];
        put?: never;
        /**
         * Creates a user
         * @description Creates a user.
         *
         *     Access: superadmins.
         */
        post: operations["user.create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns one user
         * @description Without the superadmin role only yourself.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["user.read"];
        put?: never;
        post?: never;
        /**
         * Deletes a user
         * @description Everything that belongs to the user goes with it; the reply lists the ids.
         *
         *     Access: superadmins.
         */
        delete: operations["user.delete"];
        options?: never;
        head?: never;
        /**
         * Changes a user
         * @description Renames a user, changes its role, disables or enables it. Absent fields stay.
         *
         *     Access: superadmins.
         */
        patch: operations["user.update"];
        trace?: never;
    };
    "/v1/users/{user_id}/credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the credentials of a user, without their tokens
         * @description Lists the credentials of a user, without their tokens.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["credential.list"];
        put?: never;
        /**
         * Issues a credential
         * @description The bearer token is in this response only.
         *
         *     Access: every user, for what he may see.
         */
        post: operations["credential.issue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user_id}/credentials/{cred_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revokes a credential
         * @description Revokes a credential.
         *
         *     Access: every user, for what he may see.
         */
        delete: operations["credential.revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user_id}/credentials/{cred_id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Gives a credential a new token
         * @description The old token ends. The new one is in this response only.
         *
         *     Access: every user, for what he may see.
         */
        post: operations["credential.rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user_id}/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resets the password of a user
         * @description Sessions and, unless they are kept, bearer tokens end.
         *
         *     Access: superadmins.
         */
        post: operations["password.reset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user_id}/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the quotas of a user
         * @description Lists the quotas of a user.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["quota.list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user_id}/quotas/{client_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Sets a quota
         * @description Sets what a user's rules may deliver on a client in a month. An existing quota keeps its usage and period.
         *
         *     Access: superadmins.
         */
        put: operations["quota.set"];
        post?: never;
        /**
         * Deletes a quota
         * @description Connections that it paused continue.
         *
         *     Access: superadmins.
         */
        delete: operations["quota.delete"];
        options?: never;
        head?: never;
        /**
         * Changes a quota
         * @description Changes the size, or sets the usage of this period to 0.
         *
         *     Access: superadmins.
         */
        patch: operations["quota.update"];
        trace?: never;
    };
    "/v1/users/{user_id}/quotas/{client_id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the usage and size of this period
         * @description Returns the usage and size of this period.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["quota.status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/{user_id}/traffic": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns what the rules of a user have forwarded, by minute or hour
         * @description Returns what the rules of a user have forwarded, by minute or hour.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["traffic.of-user"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Returns the caller
         * @description Returns the caller.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["self.read"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/me/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists your own grants
         * @description Lists your own grants.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["grant.list-own"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/me/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Changes your own password
         * @description Your other sessions end.
         *
         *     Access: every user, for what he may see.
         */
        post: operations["password.change"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/me/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists your own web sessions
         * @description Lists your own web sessions.
         *
         *     Access: every user, for what he may see.
         */
        get: operations["session.list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/users/me/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Ends one of your own web sessions
         * @description Ends one of your own web sessions.
         *
         *     Access: every user, for what he may see.
         */
        delete: operations["session.end"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AckTimeoutError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "ack_timeout";
            };
        };
        ActivationFailedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "activation_failed";
            };
        };
        AdvertisedEndpoint: {
            /**
             * @description Why there is no effective endpoint.
             * @example null
             */
            diagnostic: string | null;
            /** @description What enrollment URIs have, the first of `endpoints`; null: see `diagnostic`. */
            effective: string | null;
            /**
             * @description All that agents try, each in an order of its own.
             * @example [
             *       "sluice.example.com:7443"
             *     ]
             */
            endpoints: string[];
            /** @description What was set here, several separated by commas; null: nothing. */
            override: string | null;
            /**
             * @description Where `effective` is from; the seed is in the configuration.
             * @enum {string|null}
             */
            source: "override" | "seed" | "loopback" | null;
        };
        AlreadyBootstrappedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "already_bootstrapped";
            };
        };
        ApplyInProgressError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "apply_in_progress";
            };
        };
        ApplyLease: {
            /**
             * @description ULID.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NL
             */
            lease_id: string;
            /**
             * @description Seconds until it ends unless it is renewed.
             * @example 60
             */
            ttl_secs: number;
        };
        AuditEntry: {
            /**
             * @description rule.create and so on: the id of the operation.
             * @example rule.create
             */
            action: string;
            /** @description user_id; null: not authenticated. */
            actor: string | null;
            /**
             * @description operator_token, api_token, session, system (no request made the change), none, or the method of a plugin.
             * @example api_token
             */
            auth_method: string;
            /**
             * @description What a change of an object changed; null: not told.
             * @example null
             */
            changes: {
                /**
                 * @description As in requests.
                 * @example targets
                 */
                field: string;
                /** @description What it was; of a long value the beginning of its JSON. */
                from: unknown;
                /** @description What it is; null: nothing. */
                to: unknown;
            }[] | null;
            /**
             * @description How many requests this entry counts: denied, or refused mutations.
             * @example 1
             */
            count: number;
            /**
             * @description ULID.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NU
             */
            id: string;
            /**
             * @description Of the request; empty without one.
             * @example POST
             */
            method: string;
            /**
             * @description deny: the caller might not do it.
             * @enum {string}
             */
            outcome: "allow" | "deny";
            /**
             * @description Without the query; at most 512 characters; empty without a request.
             * @example /v1/rules
             */
            path: string;
            /**
             * @description Error code of the refusal.
             * @example null
             */
            reason: string | null;
            /** @description null: no request, or several addresses, beyond the maximum of a minute. */
            remote_addr: string | null;
            /**
             * @description x-request-id.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NR
             */
            request_id: string;
            /** @description Its id. */
            resource_id: string | null;
            /** @description What was changed. */
            resource_kind: string | null;
            /** @description Of the actor. */
            role: ("superadmin" | "user") | null;
            /** @description null: changed, and the response is pending or was lost. */
            status: number | null;
            /**
             * Format: date-time
             * @description When it was decided.
             * @example 2026-01-31T12:00:00.000Z
             */
            timestamp: string;
        };
        AuditPage: {
            /**
             * @description Entries in this page.
             * @example 1
             */
            count: number;
            /** @description The newest first. */
            entries: components["schemas"]["AuditEntry"][];
            /**
             * @description Cursor of the next older page; absent on the last.
             * @example MDFLQ0QzRjBQN1E0WTZaOA
             */
            next_cursor?: string;
        };
        AuthLoginBody: {
            /**
             * @description The password of the user.
             * @example correct horse battery staple
             */
            password: string;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        AuthLoginReply: {
            /**
             * @description The password is temporary: all else is refused until it is changed.
             * @example false
             */
            password_change_required: boolean;
        };
        AuthOnboardBody: {
            /**
             * @description 1 to 64 characters.
             * @example Ann Miller
             */
            display_name: string;
            /**
             * @description 12 to 1024 bytes.
             * @example correct horse battery staple
             */
            password: string;
            /**
             * @description The same once more.
             * @example correct horse battery staple
             */
            password_confirm: string;
            /**
             * @description From the log of the server.
             * @example EXAMPLE-setup-token-of-43-characters-in-all
             */
            setup_token?: string;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        AuthOnboardReply: {
            /**
             * @description 1 to 64 characters.
             * @example Ann Miller
             */
            display_name: string;
            /**
             * @description Always superadmin.
             * @example superadmin
             */
            role: string;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        AuthStatusReply: {
            /**
             * @description There is no superadmin yet: the setup token of the log makes the first one.
             * @example false
             */
            onboarding_required: boolean;
        };
        Ban: {
            /**
             * @description Of the ban.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NC
             */
            ban_id: string;
            /**
             * @description What has led to it.
             * @enum {string}
             */
            cause: "operator" | "new_connections" | "failed_handshakes";
            /**
             * @description ULID of a client.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id: string;
            /** @description Name of the client. */
            client_name: string;
            /**
             * Format: date-time
             * @description When it began.
             * @example 2026-01-31T12:00:00.000Z
             */
            from: string;
            /** @description user_id of who has lifted it. */
            lifted_by: string | null;
            /**
             * @description What became of open connections of the source.
             * @enum {string}
             */
            live: "cut" | "keep";
            /** @description user_id of the operator; null: the agent of the client. */
            made_by: string | null;
            /** @description As the operator has given it. */
            reason: string | null;
            /** @description The rule from which it is banned; null: all rules of the client. */
            rule_id: string | null;
            /**
             * @description An address or a prefix; an agent bans an IPv4 address, or the /64 of an IPv6 address.
             * @example 198.51.100.7
             */
            source: string;
            /**
             * @description Whether it holds.
             * @enum {string}
             */
            state: "in_force" | "ended" | "lifted";
            /** @description Bans of the source from the rule, each within a day of the one before. */
            times: number;
            /**
             * Format: date-time
             * @description When it ends, or would have ended.
             * @example 2026-01-31T12:00:00.000Z
             */
            until: string;
        };
        /**
         * @example {
         *       "source": "198.51.100.7",
         *       "for_secs": 86400,
         *       "reason": "scans"
         *     }
         */
        BanCreateBody: {
            /** @description client_id. Without it and rule_id: every client there is. */
            client?: string;
            /** @description Default 3600. */
            for_secs?: number;
            /**
             * @description What became of open connections of the source.
             * @enum {string}
             */
            live?: "cut" | "keep";
            /** @description For those who look later. */
            reason?: string;
            /** @description One rule, on all its clients. */
            rule_id?: string;
            /**
             * @description An address or a prefix; an agent bans an IPv4 address, or the /64 of an IPv6 address.
             * @example 198.51.100.7
             */
            source: string;
        };
        BanCreateReply: {
            /** @description One for each client. */
            bans: components["schemas"]["Ban"][];
        };
        BanNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "ban_not_found";
            };
        };
        BansUnsupportedByClientError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "bans_unsupported_by_client";
            };
        };
        BodyTooLargeError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "body_too_large";
            };
        };
        BootstrapRequiredError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "bootstrap_required";
            };
        };
        /**
         * @example {
         *       "ids": [
         *         "01KCD3F0P7Q4Y6Z8V1T5S9R2NB"
         *       ],
         *       "action": "pause"
         *     }
         */
        BulkChange: {
            /**
             * @description What becomes of each rule.
             * @example pause
             * @enum {string}
             */
            action: "pause" | "resume" | "delete" | "patch";
            /**
             * @description Change all rules, or none: the first refusal is the answer.
             * @default false
             */
            atomic?: boolean;
            /**
             * @description Judge every change by the same code, and make none.
             * @default false
             */
            dry_run?: boolean;
            /** @description rule_ids, at most 1000. */
            ids?: string[];
            patch?: components["schemas"]["RulePatch"];
            /**
             * @description Labels of the rows, in the syntax of Kubernetes: env=prod,tier!=db,!old,zone in (a,b). `!=` and `notin` also match rows without the label.
             * @example env=prod,tier!=db
             */
            selector?: string;
        };
        BulkResult: {
            /**
             * @description Rules that were chosen.
             * @example 1
             */
            matched: number;
            /** @description In the order of the request, or of creation. */
            results: {
                /** @description Why the rule is not changed. */
                error?: {
                    /** @description Code of the refusal. */
                    code: string;
                    /** @description As in the answer of the single call. */
                    details?: {
                        [key: string]: unknown;
                    };
                    /** @description What is wrong, and the remedy. */
                    message: string;
                };
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
                /**
                 * @description HTTP status that the change by itself would have had.
                 * @example 204
                 */
                status: number;
            }[];
        };
        BusyError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "busy";
            };
        };
        CannotRemoveSelfError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "cannot_remove_self";
            };
        };
        ChangeLastReply: {
            /**
             * @description Differs after each change the caller may see: of a record, a rule or a client.
             * @example 1767225600001
             */
            last: number;
            /** @description Version of the console pages; null if they are not built. */
            pages: string | null;
        };
        Client: {
            /** @description Public host of the forwarded ports. */
            address: string | null;
            /** @description As last seen. */
            agent_version: string | null;
            /** @description Features of its agent and their versions, as last seen. */
            capabilities: {
                [key: string]: string;
            } | null;
            /**
             * @description ULID; never changes.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id: string;
            /**
             * @description Two clients may have the same name.
             * @example paris
             */
            client_name: string;
            /** @description Its agent has a control stream. */
            connected: boolean;
            /** @description Since when its agent is connected. */
            connected_at: string | null;
            /**
             * Format: date-time
             * @description When its first code was redeemed.
             * @example 2026-01-31T12:00:00.000Z
             */
            enrolled_at: string;
            /**
             * @description What the record is, in words of its operators.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels: {
                [key: string]: string;
            };
            /** @description When its agent was connected last. */
            last_seen_at: string | null;
            /** @description Address from which its agent is connected. */
            remote_addr: string | null;
            /** @description When its token was revoked. */
            revoked_at: string | null;
            /**
             * @description Whether its agent has a control stream, or may have none.
             * @enum {string}
             */
            state: "connected" | "disconnected" | "revoked";
        };
        ClientChangeBody: {
            /** @description Public host of the forwarded ports. */
            address?: string | null;
            /**
             * @description Two clients may have the same name.
             * @example paris
             */
            client_name?: string;
            /**
             * @description Labels to set; null removes one, or all. At most 32 in all.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels?: {
                [key: string]: string | null;
            } | null;
        };
        ClientNameAmbiguousError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "client_name_ambiguous";
            };
        };
        ClientNotConnectedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "client_not_connected";
            };
        };
        ClientNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "client_not_found";
            };
        };
        ClientNotGrantedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "client_not_granted";
            };
        };
        ClientNotRevokedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "client_not_revoked";
            };
        };
        ClientRenameBody: {
            /**
             * @description Two clients may have the same name.
             * @example paris
             */
            client_name: string;
        };
        /** @description What the rule has forwarded on one client. */
        ClientStats: {
            /**
             * @description 0 once the client has been disconnected for 30 s.
             * @example 0
             */
            active_connections: number;
            /**
             * @description Open UDP flows.
             * @example 0
             */
            active_flows: number;
            /**
             * @description Delivered to the target.
             * @example 0
             */
            bytes_in: number;
            /**
             * @description Delivered to the caller.
             * @example 0
             */
            bytes_out: number;
            /**
             * @description ULID of a client.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id: string;
            /**
             * @description Name of the client.
             * @example paris
             */
            client_name: string;
            /**
             * @description Accepted so far.
             * @example 17
             */
            connections_total: number;
            /**
             * @description Delivered to the target.
             * @example 0
             */
            datagrams_in: number;
            /**
             * @description Delivered to the caller.
             * @example 0
             */
            datagrams_out: number;
            /**
             * @description Connections and datagrams whose target had no address.
             * @example 0
             */
            dns_failures: number;
            /**
             * @description UDP flows refused, because the rule had too many.
             * @example 0
             */
            flows_dropped_overflow: number;
            /**
             * @description Refused connections, and dropped datagrams, by reason.
             * @example {
             *       "descriptors": 1
             *     }
             */
            rejected: {
                [key: string]: number;
            };
            /**
             * @description Connections that went to another than the first target.
             * @example 0
             */
            target_failovers: number;
            /** @description When the client reported last. */
            updated_at: string | null;
        };
        /**
         * @example {
         *       "address": "paris.example.net"
         *     }
         */
        ClientUpdateBody: {
            /** @description Public host of the forwarded ports. */
            address: string | null;
            /** @description As last seen. */
            agent_version?: string | null;
            /** @description Features of its agent and their versions, as last seen. */
            capabilities?: {
                [key: string]: string;
            } | null;
            /**
             * @description ULID; never changes.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id?: string;
            /**
             * @description Two clients may have the same name.
             * @example paris
             */
            client_name?: string;
            /** @description Its agent has a control stream. */
            connected?: boolean;
            /** @description Since when its agent is connected. */
            connected_at?: string | null;
            /**
             * Format: date-time
             * @description When its first code was redeemed.
             * @example 2026-01-31T12:00:00.000Z
             */
            enrolled_at?: string;
            /**
             * @description What the record is, in words of its operators.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels?: {
                [key: string]: string;
            };
            /** @description When its agent was connected last. */
            last_seen_at?: string | null;
            /** @description Address from which its agent is connected. */
            remote_addr?: string | null;
            /** @description When its token was revoked. */
            revoked_at?: string | null;
            /**
             * @description Whether its agent has a control stream, or may have none.
             * @enum {string}
             */
            state?: "connected" | "disconnected" | "revoked";
        };
        ConflictLegacyToSniUnsupportedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "conflict.legacy_to_sni_unsupported";
            };
        };
        ConflictSniFallbackDuplicateError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "conflict.sni_fallback_duplicate";
            };
        };
        ConflictSniRouteDuplicateError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "conflict.sni_route_duplicate";
            };
        };
        Connection: {
            /**
             * @description Delivered to the target.
             * @example 1200
             */
            bytes_in: number;
            /**
             * @description Delivered to the caller.
             * @example 1200
             */
            bytes_out: number;
            /**
             * @description ULID of a client.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id: string;
            /**
             * @description Of no other connection, also after a restart of the agent.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA-01KCD3F0P7Q4Y6Z8V1T5S9R2NX-2s
             */
            connection_id: string;
            /** @description null: for none. */
            held_by: string | null;
            /**
             * @description Since a byte was delivered.
             * @example 0.4
             */
            idle_secs: number;
            /**
             * @description Where it has connected.
             * @example 203.0.113.1:443
             */
            listen: string;
            /**
             * Format: date-time
             * @description When it was accepted.
             * @example 2026-01-31T12:00:00.000Z
             */
            opened_at: string;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            owner: string;
            /**
             * @description udp: a flow.
             * @enum {string}
             */
            protocol: "tcp" | "udp";
            /** @description Segments that were sent again. null: the client cannot tell, as of flows. */
            retransmits: {
                /** @description On the way to the caller. */
                caller: number | null;
                /** @description On the way to the target. */
                target: number | null;
            } | null;
            /** @description Round trip, as the system has measured it. null: the client cannot tell, as of flows. */
            rtt_ms: {
                /** @description On the way to the caller. */
                caller: number | null;
                /** @description On the way to the target. */
                target: number | null;
            } | null;
            /**
             * @description ULID of a rule.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
             */
            rule_id: string;
            /**
             * @description Of the caller, host:port.
             * @example 198.51.100.7:52011
             */
            source: string;
            /** @description To which it is connected; null: not yet. */
            target: string | null;
        };
        ConnectionNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "connection_not_found";
            };
        };
        ConnectionsClosed: {
            /**
             * @description Those that were closed; 0 with dry_run.
             * @example 12
             */
            closed: number;
            /**
             * @description Open connections and flows that match.
             * @example 12
             */
            matched: number;
        };
        ConsolePart: {
            /**
             * @description The custom element that the module defines.
             * @example acme-idle-page
             */
            element: string;
            /** @description SVG path data of a 24x24 line icon; null for a card or the default icon. */
            icon: string | null;
            /**
             * @description Path of its script.
             * @example /v1/console/modules/acme-idle-9f86d081884c7d65.js
             */
            module: string;
            /** @description Name of the page, at /pages/NAME; null for a card. */
            name: string | null;
            /**
             * @description A page, or the page that shows the card.
             * @example page
             * @enum {string}
             */
            on: "page" | "overview" | "rule" | "client";
            /**
             * @description The plugin that adds it.
             * @example acme-idle
             */
            plugin: string;
            /** @description Title in the navigation or on the card. */
            title: {
                /**
                 * @description In German.
                 * @example Ruhende Verbindungen
                 */
                de: string;
                /**
                 * @description In English.
                 * @example Idle connections
                 */
                en: string;
            };
        };
        ControlCertificate: {
            /**
             * @description SHA-256 of the certificate, in hex: what agents pin.
             * @example 0000000000000000000000000000000000000000000000000000000000000000
             */
            fingerprint: string;
            /**
             * @description Hosts that it covers.
             * @example [
             *       "DNS:sluice.example.com"
             *     ]
             */
            names: string[];
            /** @description Of the certificate that is staged as the next one; null: none. */
            next: string | null;
            /**
             * Format: date-time
             * @description Until when it is valid.
             * @example 2026-01-31T12:00:00.000Z
             */
            not_after: string;
            /**
             * Format: date-time
             * @description From when it is valid.
             * @example 2026-01-31T12:00:00.000Z
             */
            not_before: string;
            /**
             * @description given: from `tls_cert_path`.
             * @enum {string}
             */
            source: "given" | "self-made";
            /**
             * @description Of the certificate.
             * @example CN=sluice
             */
            subject: string;
            /**
             * @description Clients that do not trust the next one yet.
             * @example 0
             */
            waiting: number;
            /** @description The first 100 of them, by name. */
            waiting_for: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
                /**
                 * @description Of the client.
                 * @example paris
                 */
                name: string;
            }[];
        };
        Credential: {
            /**
             * Format: date-time
             * @description When it was issued.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description ULID.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NC
             */
            credential_id: string;
            /** @description When it ends; null: never. */
            expires_at: string | null;
            /**
             * @description Free text; at most 255 bytes.
             * @example deploy@ci
             */
            label: string;
            /** @description When it was used last. */
            last_used_at: string | null;
            /** @description When it was revoked. */
            revoked_at: string | null;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        CredentialIssueBody: {
            /**
             * @description Without it the credential never expires.
             * @example 7776000
             */
            expires_in_secs?: number;
            /**
             * @description Free text; at most 255 bytes.
             * @example deploy@ci
             */
            label?: string;
        };
        CredentialNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "credential_not_found";
            };
        };
        CsrfContentTypeRequiredError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "csrf_content_type_required";
            };
        };
        CsrfHeaderRequiredError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "csrf_header_required";
            };
        };
        CsrfOriginMismatchError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "csrf_origin_mismatch";
            };
        };
        CsrfOriginRequiredError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "csrf_origin_required";
            };
        };
        /** @example {} */
        Document: {
            /** @description Entries of [[grants]]. */
            grants?: {
                /**
                 * @description In place of client_id: an id, or the name of one client.
                 * @example paris
                 */
                client?: string;
                /** @description An id, or * for every client. */
                client_id?: string;
                /**
                 * @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit.
                 * @example {
                 *       "env": "prod",
                 *       "example.com/tier": "db"
                 *     }
                 */
                labels?: {
                    [key: string]: string;
                };
                /**
                 * @description Last listen port.
                 * @example 8999
                 */
                listen_port_end: number;
                /**
                 * @description First listen port.
                 * @example 8000
                 */
                listen_port_start: number;
                /** @description Free text. */
                note?: string | null;
                /** @description At least one. */
                protocols: string[];
                /** @description Addresses, CIDRs and host names, each with ports or without: 10.0.0.0/8:443, db.example:5000-5010. */
                targets?: string[] | null;
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            }[];
            /** @description Entries of [[owner_limits]]. */
            owner_limits?: {
                /** @description client_id, or the name of one client. */
                client: string;
                /**
                 * @description user_id of the owner of rules.
                 * @example ann
                 */
                owner: string;
                rate_limit: components["schemas"]["RateLimit"];
            }[];
            /** @description Entries of [[quotas]]. */
            quotas?: {
                /** @description Unix seconds, not in the future: periods begin at its day and time. Cannot be changed. */
                billing_anchor?: number;
                /** @description client_id, or the name of one client. */
                client?: string;
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id?: string;
                /**
                 * @description Bytes in a calendar month, in plus out.
                 * @example 500000000000
                 */
                monthly_bytes: number;
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            }[];
            /** @description Entries of [[rules]]. */
            rules?: {
                /** @description Sources that may use the rule, and no others. Addresses, prefixes, and lists such as @office, at most 256. */
                allow_sources?: string[] | null;
                /** @description Of a UDP rule: replies are capped until the caller has proved that they reach it. */
                amplification?: {
                    /** @description The cap ends with so many datagrams of the caller that each came after a reply; 0: never. Default 8. */
                    proven_after?: number;
                    /** @description Bytes of replies that a flow may send, for each byte of the caller. */
                    ratio: number;
                } | null;
                /** @description What becomes of live connections when the rule closes by its times. */
                at_end?: ("keep" | "drain" | "cut") | null;
                /** @description How connections are spread over the targets of one priority; the next priority is the reserve. Null: one after the other, by priority. */
                balance?: ("priority" | "round_robin" | "weighted" | "least_connections" | "source_hash" | "random_two") | null;
                /** @description Of a TCP rule: its agent bans sources that begin too many connections, or whose handshakes are wrong. */
                ban?: {
                    /** @description A source with more wrong handshakes in `within_secs` is banned: no or an unknown TLS name, or a PROXY header of somebody else. */
                    failed_handshakes?: number | null;
                    /** @description Of the first ban, default 600. Each further one within a day is twice as long, up to a week. */
                    for_secs?: number | null;
                    /**
                     * @description What becomes of open connections of a banned source. Default: cut.
                     * @enum {string}
                     */
                    live?: "cut" | "keep";
                    /** @description A source that begins more in `within_secs` is banned. */
                    new_connections?: number | null;
                    /** @description Default 60. */
                    within_secs?: number | null;
                } | null;
                /**
                 * @description client_id, or the name of one client.
                 * @example paris
                 */
                client?: string;
                /** @description A group of clients, in place of `client`: either ids or a selector. Each has the rule. */
                clients?: {
                    /** @description client_ids of the group, at most 1000. */
                    ids?: string[];
                    /**
                     * @description Labels of clients: the group has those that match, now and later.
                     * @example env=prod
                     */
                    selector?: string;
                } | null;
                /** @description Sources that may not use the rule, even where allow_sources has them. Addresses, prefixes, and lists such as @office, at most 256. */
                deny_sources?: string[] | null;
                /** @description The rule is closed from then on (RFC 3339), and removed expired_rules_keep_secs later. */
                expires_at?: string | null;
                /** @description Seconds between connection attempts to each target. */
                health_check_interval_secs?: number | null;
                /** @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit. */
                labels?: {
                    [key: string]: string;
                } | null;
                /**
                 * @description Port on the client; of a range the first one.
                 * @example 8443
                 */
                listen_port: number;
                /** @description Last port of a range that begins at listen_port. */
                listen_port_end?: number | null;
                /** @description The rule is closed until then (RFC 3339). */
                not_before?: string | null;
                /** @description user_id; default is the caller. */
                owner?: string;
                /**
                 * @description Keep the port, and forward nothing; default false.
                 * @example false
                 */
                paused?: boolean;
                /** @description user_id, for superadmins: the owner if grants limit the rule; default is the caller. */
                placed_by?: string;
                /** @description Try the IPv6 addresses of a name first. */
                prefer_ipv6?: boolean;
                /**
                 * @description tcp or udp, in any case.
                 * @default tcp
                 */
                protocol?: string;
                /** @description Addresses and prefixes of the proxies in front: they write a PROXY protocol header, others are refused. */
                proxy_in?: string[] | null;
                /** @description Version of the PROXY protocol header that targets get before the first byte. */
                proxy_out?: number | null;
                /** @description Of a UDP rule with proxy_out: the first datagram of a flow has the header, or each. */
                proxy_out_udp?: ("first" | "each") | null;
                rate_limit?: components["schemas"]["RateLimit"] | null;
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id?: string;
                /** @description Weekly hours: outside of them the rule is closed. */
                schedule?: {
                    /**
                     * @description IANA name.
                     * @example Europe/Paris
                     */
                    time_zone: string;
                    /** @description 1 to 32; one past midnight is two. */
                    windows: {
                        /**
                         * @description mon to sun.
                         * @example [
                         *       "mon",
                         *       "fri"
                         *     ]
                         */
                        days: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
                        /**
                         * @description Local time at which the window begins.
                         * @example 08:00
                         */
                        from: string;
                        /**
                         * @description Local time at which it ends, at most 24:00.
                         * @example 18:00
                         */
                        to: string;
                    }[];
                } | null;
                /** @description A target whose connects take this much longer than is usual in its priority, and three times as long, is ejected for a time. 0: none is. Null: 250. */
                slow_connect_ms?: number | null;
                /** @description How long the share of a target grows that returns or is new. 0: it has its whole share at once. Null: 10. */
                slow_start_secs?: number | null;
                /** @description Takes connections without TLS or a matching name on its port. */
                sni_fallback?: boolean | null;
                /** @description A TLS server name, or '*.' and a domain, which matches names with one more label. */
                sni_pattern?: string | null;
                /** @description Of source_hash: callers whose IPv6 addresses have these first bits in common keep one target. Null: 128. */
                source_hash_ipv6_prefix?: number | null;
                /** @description Limits for each source by itself, an IPv4 address or the /64 of an IPv6 address. With proxy_in it is the address that the header gives. */
                source_limit?: {
                    /** @description Connections and flows of one source at once. */
                    connections?: number | null;
                    /** @description Connections and flows that one source may begin in `within_secs`. */
                    new_connections?: number | null;
                    /** @description Of new_connections; default 10. */
                    within_secs?: number | null;
                } | null;
                /** @description 1 to 8, without duplicates. */
                targets: {
                    /**
                     * @description IPv4, IPv6 with or without brackets, or a DNS name.
                     * @example 10.0.0.7
                     */
                    host: string;
                    /**
                     * @description Port of the target; of a range the first one.
                     * @example 443
                     */
                    port: number;
                    /**
                     * @description The lowest is tried first; default is the index.
                     * @example 0
                     */
                    priority?: number;
                    /**
                     * @description Share of the connections among targets of one priority, where the rule balances them; 0: no new ones.
                     * @default 1
                     * @example 1
                     */
                    weight?: number;
                }[];
            }[];
            /** @description Entries of [[users]]. */
            users?: {
                /** @description Ends the sessions and refuses the credentials; the rules keep running. */
                disabled?: boolean;
                /**
                 * @description 1 to 64 characters.
                 * @example Ann Miller
                 */
                display_name?: string;
                /**
                 * @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit.
                 * @example {
                 *       "env": "prod",
                 *       "example.com/tier": "db"
                 *     }
                 */
                labels?: {
                    [key: string]: string;
                };
                /**
                 * @description A superadmin sees and changes everything.
                 * @enum {string}
                 */
                role?: "superadmin" | "user";
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            }[];
        };
        DocumentKind: {
            /**
             * @description What records show of properties that an entry leaves out.
             * @example {
             *       "paused": false
             *     }
             */
            defaults: {
                [key: string]: unknown;
            };
            /**
             * @description Properties of plugins that tell objects apart which are equal else.
             * @example [
             *       "sni_pattern"
             *     ]
             */
            distinguishing: string[];
            /**
             * @description Of the list in the document.
             * @example rules
             */
            name: string;
        };
        EmptyProtocolSetError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "empty_protocol_set";
            };
        };
        EndpointInvalidError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "endpoint_invalid";
            };
        };
        EndpointNotInCertSanError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "endpoint_not_in_cert_san";
            };
        };
        Enrollment: {
            /** @description Public host of the forwarded ports. */
            address: string | null;
            /**
             * @description Null: the code creates a new client.
             * @example null
             */
            client_id: string | null;
            /**
             * @description Name of the client.
             * @example paris
             */
            client_name: string;
            /**
             * Format: date-time
             * @description When the code was made.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description user_id of who made the code.
             * @example ann
             */
            created_by: string;
            /**
             * @description ULID.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NE
             */
            enrollment_id: string;
            /**
             * Format: date-time
             * @description Until when the code may be redeemed.
             * @example 2026-01-31T12:00:00.000Z
             */
            expires_at: string;
            /**
             * @description What the record is, in words of its operators.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels: {
                [key: string]: string;
            };
        };
        EnrollmentCreateBody: {
            /**
             * @description Public host of the forwarded ports, without a port.
             * @example paris.example.net
             */
            address?: string | null;
            /**
             * @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels?: {
                [key: string]: string;
            };
            /**
             * @description Name of the new client.
             * @example paris
             */
            name: string;
            /**
             * @description Lifetime of the code; default enrollment_ttl_secs.
             * @example 600
             */
            ttl_secs?: number;
        };
        EnrollmentNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "enrollment_not_found";
            };
        };
        EnrollmentRenewBody: {
            /**
             * @description Lifetime of the code; default enrollment_ttl_secs.
             * @example 600
             */
            ttl_secs?: number;
        };
        Error: {
            error: {
                code: string;
                details?: {
                    [key: string]: unknown;
                };
                message: string;
            };
        };
        /** @description One decision. */
        ExplainStep: {
            /**
             * @description Of the object that decides.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
             */
            id: string;
            /**
             * @description What decides.
             * @example rule
             */
            kind: string;
            /** @description A code of errors, states or `rejected`. */
            reason: string | null;
            /**
             * @description A sentence.
             * @example 10.0.0.7:80 refuses connections
             */
            text: string;
            /**
             * @description stop: the caller comes no further; it is the last step.
             * @enum {string}
             */
            verdict: "pass" | "stop" | "info";
        };
        /** @description A target, as the probe has seen it. */
        ExplainTarget: {
            /**
             * @description The address that was dialed.
             * @example 10.0.0.7
             */
            address: string | null;
            /**
             * @description How long the connect took.
             * @example 1.2
             */
            connect_ms: number | null;
            /**
             * @description How long ago DNS gave the answer that was used.
             * @example 12.5
             */
            dns_age_ms?: number;
            /**
             * @description How long the look-up took.
             * @example 0.4
             */
            dns_ms: number | null;
            /**
             * @description Why a caller does not reach it, or what is wrong with it.
             * @example connect_refused
             */
            error?: string;
            /**
             * @description From the connect to the first byte of the target.
             * @example 12.5
             */
            first_byte_ms?: number;
            /**
             * @description As in the rule.
             * @example 10.0.0.7
             */
            host: string;
            /**
             * @description Of a range: for the port asked about.
             * @example 80
             */
            port: number;
            /**
             * @description The lowest is tried first.
             * @example 0
             */
            priority: number;
            /**
             * @description A name of the certificate that the target shows.
             * @example shop.example
             */
            tls_name?: string;
        };
        Explanation: {
            /** @description The step that decides: the stop, else the first target that takes the caller, else the rule. */
            decided_by: {
                /**
                 * @description Of the object that decides.
                 * @example 10.0.0.7:80
                 */
                id: string;
                /**
                 * @description What decides.
                 * @example target
                 */
                kind: string;
                /**
                 * @description A code of errors, states or `rejected`; `active` or `connected` if it is forwarded.
                 * @example connect_refused
                 */
                reason: string;
            };
            /**
             * @description What becomes of the caller. unknown: the client cannot be asked, or has yet to answer.
             * @enum {string}
             */
            outcome: "forwarded" | "refused" | "no_rule" | "unknown";
            /** @description The decisions in order. */
            steps: components["schemas"]["ExplainStep"][];
            /** @description In the order in which they are tried; none if it does not come so far. */
            targets: components["schemas"]["ExplainTarget"][];
        };
        FieldNotLoadedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "field_not_loaded";
            };
        };
        Grant: {
            /**
             * @description * is every client.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id: string;
            /** @description null: every client. */
            client_name: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description ULID.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NG
             */
            grant_id: string;
            /**
             * @description What the record is, in words of its operators.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels: {
                [key: string]: string;
            };
            /**
             * @description Last listen port.
             * @example 8999
             */
            listen_port_end: number;
            /**
             * @description First listen port.
             * @example 8000
             */
            listen_port_start: number;
            /** @description Free text. */
            note: string | null;
            /** @description What rules may be. */
            protocols: ("tcp" | "udp")[];
            /** @description null: every target. */
            targets: string[] | null;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        GrantAlreadyExistsError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "grant_already_exists";
            };
        };
        GrantChangeBody: {
            /**
             * @description Labels to set; null removes one, or all. At most 32 in all.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels?: {
                [key: string]: string | null;
            } | null;
            /** @description Free text. */
            note?: string | null;
        };
        GrantCreateBody: {
            /**
             * @description In place of client_id: an id, or the name of one client.
             * @example paris
             */
            client?: string;
            /** @description An id, or * for every client. */
            client_id?: string;
            /**
             * @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels?: {
                [key: string]: string;
            };
            /**
             * @description Last listen port.
             * @example 8999
             */
            listen_port_end: number;
            /**
             * @description First listen port.
             * @example 8000
             */
            listen_port_start: number;
            /** @description Free text. */
            note?: string | null;
            /** @description At least one. */
            protocols: string[];
            /** @description Addresses, CIDRs and host names, each with ports or without: 10.0.0.0/8:443, db.example:5000-5010. */
            targets?: string[] | null;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        GrantDeleteReply: {
            /**
             * @description ULID.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NG
             */
            grant_id: string;
            /**
             * @description Rules that no other grant allows.
             * @example [
             *       "01KCD3F0P7Q4Y6Z8V1T5S9R2NB"
             *     ]
             */
            removed_rule_ids: string[];
        };
        GrantNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "grant_not_found";
            };
        };
        HeadersTooLargeError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "headers_too_large";
            };
        };
        IdempotencyInProgressError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "idempotency_in_progress";
            };
        };
        IdempotencyKeyReusedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "idempotency_key_reused";
            };
        };
        IdempotencySecretSpentError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "idempotency_secret_spent";
            };
        };
        InitialPasswordRequiredError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "initial_password_required";
            };
        };
        InstallerReadReply: {
            /**
             * @description Machines for which there are packages.
             * @example [
             *       "linux-x64",
             *       "linux-arm64"
             *     ]
             */
            machines: string[];
            /**
             * @description SHA-256 of /install.sh, in hex.
             * @example 0000000000000000000000000000000000000000000000000000000000000000
             */
            script_sha256: string;
            /**
             * @description Version of the packages.
             * @example 2.0.0
             */
            version: string;
        };
        InstallerUnavailableError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "installer_unavailable";
            };
        };
        InternalError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "internal";
            };
        };
        InvalidBillingAnchorError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_billing_anchor";
            };
        };
        InvalidBucketError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_bucket";
            };
        };
        InvalidClientAddressError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_client_address";
            };
        };
        InvalidClientNameError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_client_name";
            };
        };
        InvalidCursorError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_cursor";
            };
        };
        InvalidDisplayNameError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_display_name";
            };
        };
        InvalidEnrollmentTtlError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_enrollment_ttl";
            };
        };
        InvalidJsonError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_json";
            };
        };
        InvalidLimitError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_limit";
            };
        };
        InvalidLoginError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_login";
            };
        };
        InvalidOutcomeError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_outcome";
            };
        };
        InvalidPasswordResetError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_password_reset";
            };
        };
        InvalidPortRangeError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_port_range";
            };
        };
        InvalidQuotaSizeError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_quota_size";
            };
        };
        InvalidRoleError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_role";
            };
        };
        InvalidTimeRangeError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_time_range";
            };
        };
        InvalidTimestampError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_timestamp";
            };
        };
        InvalidUserIdError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "invalid_user_id";
            };
        };
        Invitation: {
            /**
             * @description Name of the client.
             * @example paris
             */
            client_name: string;
            /**
             * @description Run it on the edge host. It contains the code and is shown only in this response.
             * @example sluice agent enroll 'svc://sluice.example.com:7443/enroll?pin=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef&code=EXAMPLE-of-a-one-time-code-of-43-characters'
             */
            command: string;
            /**
             * @description ULID.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NE
             */
            enrollment_id: string;
            /**
             * Format: date-time
             * @description Until when the code may be redeemed.
             * @example 2026-01-31T12:00:00.000Z
             */
            expires_at: string;
            /**
             * @description What the command contains.
             * @example svc://sluice.example.com:7443/enroll?pin=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef&code=EXAMPLE-of-a-one-time-code-of-43-characters
             */
            uri: string;
        };
        IssuedCredential: {
            /**
             * Format: date-time
             * @description When it was issued.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /**
             * @description ULID.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NC
             */
            credential_id: string;
            /**
             * @description Free text; at most 255 bytes.
             * @example deploy@ci
             */
            label: string;
            /**
             * @description The bearer token; shown only in this response.
             * @example svct_EXAMPLE-of-a-token-do-not-use
             */
            token: string;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        JournalEntry: {
            /** @description null: it has no cause of its own. */
            cause: string | null;
            /**
             * @description What the kind adds, such as `target`, `field` or `actor`.
             * @example {
             *       "target": "10.0.0.7:443"
             *     }
             */
            details: {
                [key: string]: unknown;
            };
            /**
             * @description What it was; null: nothing. Of a long value the beginning of its JSON.
             * @example 10.0.0.7:443
             */
            from: unknown;
            /**
             * @description state, failover, target, limit, quota, edge, change, or that of a plugin.
             * @example failover
             */
            kind: string;
            /**
             * @description x-request-id of the request that led to it.
             * @example null
             */
            request_id: string | null;
            /**
             * @description What it is; null: nothing.
             * @example 10.0.0.8:443
             */
            to: unknown;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-01-31T12:00:00.000Z
             */
            ts: string;
        };
        LastSuperadminError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "last_superadmin";
            };
        };
        LimitReachedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "limit_reached";
            };
        };
        LiveConnections: {
            /**
             * Format: date-time
             * @description When the clients were asked.
             * @example 2026-01-31T12:00:00.000Z
             */
            at: string;
            /**
             * @description Delivered to targets by all that match and are open.
             * @example 1200
             */
            bytes_in: number;
            /**
             * @description Delivered to callers by all that match and are open.
             * @example 1200
             */
            bytes_out: number;
            /** @description Those that have not answered first, then those with the most connections. */
            clients: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
                /**
                 * @description Its name.
                 * @example paris
                 */
                client_name: string;
                /** @description null: it has not answered. */
                matched: number | null;
                /**
                 * @description no_answer: not for 3 s. disconnected: it is not connected to the server. unsupported: its agent is too old. Of all three nothing is known, and there may be connections.
                 * @enum {string}
                 */
                state: "answered" | "no_answer" | "disconnected" | "unsupported";
            }[];
            /**
             * @description Clients of which the figures are.
             * @example 3
             */
            clients_answered: number;
            /**
             * @description Clients of which nothing is known.
             * @example 0
             */
            clients_silent: number;
            /** @description The first by `sort`. */
            connections: components["schemas"]["Connection"][];
            /**
             * @description Open connections and flows that match.
             * @example 12
             */
            matched: number;
        };
        Me: {
            /**
             * @description 1 to 64 characters.
             * @example Ann Miller
             */
            display_name: string;
            /**
             * @description A superadmin sees and changes everything.
             * @enum {string}
             */
            role: "superadmin" | "user";
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        MultiTargetUnsupportedByClientError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "multi_target_unsupported_by_client";
            };
        };
        NotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "not_found";
            };
        };
        NotOwnerError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "not_owner";
            };
        };
        OpenapiReadReply: {
            /**
             * @description Version of OpenAPI.
             * @example 3.1.1
             */
            openapi: string;
        };
        Owner: {
            /** @description Its rules on the client are limited together. */
            has_rate_limit: boolean;
            /**
             * @description user_id of the owner of rules.
             * @example ann
             */
            owner_id: string;
            /**
             * @description Rules on the client.
             * @example 3
             */
            rule_count: number;
        };
        OwnerRateLimit: {
            /**
             * @description ULID of a client.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id: string;
            /** @description The agent of the client has these limits in force, as last heard from it. */
            enforced: boolean;
            /**
             * @description user_id of the owner of rules.
             * @example ann
             */
            owner_id: string;
            rate_limit: components["schemas"]["RateLimit"];
            /**
             * Format: date-time
             * @description When it was set last.
             * @example 2026-01-31T12:00:00.000Z
             */
            updated_at: string;
        };
        OwnerRateLimitNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "owner_rate_limit_not_found";
            };
        };
        /**
         * @description Limits of all rules of the owner on the client together.
         * @example {
         *       "bandwidth_out_bps": 100000000,
         *       "concurrent_connections": 500
         *     }
         */
        OwnerRateLimitSetBody: {
            /** @description Bits per second towards the targets. */
            bandwidth_in_bps?: number;
            /** @description Default: 100 ms of the rate, at least 16 KiB. */
            bandwidth_in_burst_bytes?: number;
            /** @description Bits per second towards the callers. */
            bandwidth_out_bps?: number;
            /** @description Default: 100 ms of the rate, at least 16 KiB. */
            bandwidth_out_burst_bytes?: number;
            /**
             * @description ULID of a client.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id?: string;
            /** @description Open at the same time; a UDP flow is a connection. */
            concurrent_connections?: number;
            /** @description The agent of the client has these limits in force, as last heard from it. */
            enforced?: boolean;
            /** @description Default: one second of the rate. */
            new_connections_burst?: number;
            /** @description A UDP flow is a connection. */
            new_connections_per_sec?: number;
            /**
             * @description user_id of the owner of rules.
             * @example ann
             */
            owner_id?: string;
            rate_limit?: components["schemas"]["RateLimit"];
            /**
             * Format: date-time
             * @description When it was set last.
             * @example 2026-01-31T12:00:00.000Z
             */
            updated_at?: string;
        };
        PasswordChangeBody: {
            /**
             * @description The password until now.
             * @example correct horse battery staple
             */
            current_password: string;
            /**
             * @description 12 to 1024 bytes.
             * @example staple battery horse correct
             */
            new_password: string;
            /**
             * @description The same once more.
             * @example staple battery horse correct
             */
            new_password_confirm: string;
        };
        PasswordChangeRequiredError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "password_change_required";
            };
        };
        PasswordMismatchError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "password_mismatch";
            };
        };
        PasswordResetBody: {
            /** @description Do not revoke the bearer tokens of the user. */
            keep_api_tokens?: boolean;
            /** @description Without it a random one is made and returned. */
            new_password?: string;
            /**
             * @description It must be changed at the next login, within 24 hours.
             * @default true
             * @example true
             */
            temporary?: boolean;
        };
        PasswordResetReply: {
            /**
             * @description Bearer tokens that ended.
             * @example 2
             */
            api_tokens_revoked: number;
            /**
             * @description Web sessions that ended.
             * @example 1
             */
            sessions_revoked: number;
            /**
             * @description Shown only in this response.
             * @example EXAMPLE-of-a-password
             */
            temporary_password?: string;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        PasswordTooLongError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "password_too_long";
            };
        };
        PasswordTooShortError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "password_too_short";
            };
        };
        PasswordUnchangedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "password_unchanged";
            };
        };
        Plugin: {
            /**
             * @description What agents must be able to do, and since which version they are.
             * @example {
             *       "http": "^1.0.0"
             *     }
             */
            capabilities: {
                [key: string]: string;
            };
            /**
             * @description Commands that it adds.
             * @example [
             *       "quota list"
             *     ]
             */
            commands: string[];
            /** @description One sentence; empty where it has none. */
            description: string;
            /**
             * @description Rule fields of its agent half.
             * @example [
             *       "quota"
             *     ]
             */
            fields: string[];
            /**
             * @description Slots that it fills.
             * @example [
             *       "kernel.metrics"
             *     ]
             */
            fills: string[];
            /**
             * @description external: the configuration names it, and its files are trusted.
             * @enum {string}
             */
            from: "built in" | "external";
            /** @description Whether it has a half on agents, as far as the server knows. */
            has_agent: boolean;
            /**
             * @description Version of the contract that it is written for.
             * @example ^2.0.0
             */
            kernel: string;
            /**
             * @description What it may do.
             * @example [
             *       "answer requests",
             *       "keep tables"
             *     ]
             */
            may: string[];
            /**
             * @description Of the plugin.
             * @example quota
             */
            name: string;
            /**
             * @description Plugins that it needs, and their versions.
             * @example {
             *       "http": "^1.0.0"
             *     }
             */
            needs: {
                [key: string]: string;
            };
            /**
             * @description Routes that it answers.
             * @example [
             *       "GET /v1/quotas"
             *     ]
             */
            routes: string[];
            /** @description Its settings. */
            settings: {
                /** @description What it means. */
                description: string;
                /**
                 * @description Set, and not shown: it may be a secret.
                 * @example false
                 */
                hidden: boolean;
                /** @description The value is that of the plugin. */
                is_default: boolean;
                /**
                 * @description As in the configuration.
                 * @example quota_hold_secs
                 */
                key: string;
                /**
                 * @description In force; null: not set, or hidden.
                 * @example 60
                 */
                value: unknown;
            }[];
            /**
             * @description Slots that other plugins may fill.
             * @example [
             *       "quota.level"
             *     ]
             */
            slots: string[];
            /**
             * @description Its tables in the store.
             * @example [
             *       "quota"
             *     ]
             */
            tables: string[];
            /**
             * @description Its own.
             * @example 1.0.0
             */
            version: string;
        };
        PortInUseError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "port_in_use";
            };
        };
        PortOutsideGrantError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "port_outside_grant";
            };
        };
        PortStats: {
            /**
             * @description For a UDP rule: flows.
             * @example 0
             */
            active_connections: number;
            /**
             * @description Delivered to the target.
             * @example 1200
             */
            bytes_in: number;
            /**
             * @description Delivered to the caller.
             * @example 56000
             */
            bytes_out: number;
            /**
             * @description Delivered to the target.
             * @example 0
             */
            datagrams_in: number;
            /**
             * @description Delivered to the caller.
             * @example 0
             */
            datagrams_out: number;
            /**
             * @description Port on the client.
             * @example 8443
             */
            listen_port: number;
        };
        ProtocolNotGrantedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "protocol_not_granted";
            };
        };
        Quota: {
            /**
             * @description Periods begin at its day and time. Unix seconds.
             * @example 1767225600
             */
            billing_anchor: number;
            /**
             * @description Left in this period.
             * @example 380000000000
             */
            bytes_remaining: number;
            /**
             * @description Delivered in this period, in plus out.
             * @example 120000000000
             */
            bytes_used: number;
            /**
             * @description ULID of a client.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id: string;
            /**
             * @description Name of the client.
             * @example paris
             */
            client_name: string;
            /**
             * @description When it was set first. Unix seconds.
             * @example 1767225600
             */
            created_at: number;
            /** @description The agent of the client has this quota in force, as last heard from it. */
            enforced: boolean;
            /**
             * @description Nothing is left: the rules of the user on the client forward nothing.
             * @example false
             */
            exhausted: boolean;
            /**
             * @description When it was exhausted, Unix seconds.
             * @example null
             */
            exhausted_at: number | null;
            /**
             * @description Bytes in a calendar month, in plus out.
             * @example 500000000000
             */
            monthly_bytes: number;
            /**
             * @description First second of the next period. Unix seconds.
             * @example 1769904000
             */
            period_end: number;
            /**
             * @description First second of this period. Unix seconds.
             * @example 1767225600
             */
            period_start: number;
            /**
             * @description When it was changed last. Unix seconds.
             * @example 1767225600
             */
            updated_at: number;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        QuotaBucketOutOfRetentionError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "quota_bucket_out_of_retention";
            };
        };
        QuotaNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "quota_not_found";
            };
        };
        /**
         * @example {
         *       "monthly_bytes": 500000000000
         *     }
         */
        QuotaSetBody: {
            /** @description Unix seconds, not in the future: periods begin at its day and time. Cannot be changed. */
            billing_anchor?: number;
            /**
             * @description Left in this period.
             * @example 380000000000
             */
            bytes_remaining?: number;
            /**
             * @description Delivered in this period, in plus out.
             * @example 120000000000
             */
            bytes_used?: number;
            /**
             * @description ULID of a client.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id?: string;
            /**
             * @description Name of the client.
             * @example paris
             */
            client_name?: string;
            /**
             * @description When it was set first. Unix seconds.
             * @example 1767225600
             */
            created_at?: number;
            /** @description The agent of the client has this quota in force, as last heard from it. */
            enforced?: boolean;
            /**
             * @description Nothing is left: the rules of the user on the client forward nothing.
             * @example false
             */
            exhausted?: boolean;
            /**
             * @description When it was exhausted, Unix seconds.
             * @example null
             */
            exhausted_at?: number | null;
            /**
             * @description Bytes in a calendar month, in plus out.
             * @example 500000000000
             */
            monthly_bytes: number;
            /**
             * @description First second of the next period. Unix seconds.
             * @example 1769904000
             */
            period_end?: number;
            /**
             * @description First second of this period. Unix seconds.
             * @example 1767225600
             */
            period_start?: number;
            /**
             * @description When it was changed last. Unix seconds.
             * @example 1767225600
             */
            updated_at?: number;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id?: string;
        };
        QuotaUnsupportedByClientError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "quota_unsupported_by_client";
            };
        };
        QuotaUpdateBody: {
            /**
             * @description Sets the usage of this period to 0; the period stays.
             * @example true
             */
            clear_period_usage?: boolean;
            /**
             * @description Bytes in a calendar month, in plus out.
             * @example 500000000000
             */
            monthly_bytes?: number;
        };
        /**
         * @example {
         *       "bandwidth_out_bps": 50000000,
         *       "concurrent_connections": 100
         *     }
         */
        RateLimit: {
            /** @description Bits per second towards the targets. */
            bandwidth_in_bps?: number;
            /** @description Default: 100 ms of the rate, at least 16 KiB. */
            bandwidth_in_burst_bytes?: number;
            /** @description Bits per second towards the callers. */
            bandwidth_out_bps?: number;
            /** @description Default: 100 ms of the rate, at least 16 KiB. */
            bandwidth_out_burst_bytes?: number;
            /** @description Open at the same time; a UDP flow is a connection. */
            concurrent_connections?: number;
            /** @description Default: one second of the rate. */
            new_connections_burst?: number;
            /** @description A UDP flow is a connection. */
            new_connections_per_sec?: number;
        };
        RateLimitedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "rate_limited";
            };
        };
        RateLimitUnsupportedByClientError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "rate_limit_unsupported_by_client";
            };
        };
        RequestTimeoutError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "request_timeout";
            };
        };
        ReservedUserIdError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "reserved_user_id";
            };
        };
        ResourceChangedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "resource_changed";
            };
        };
        RoleRequiredError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "role_required";
            };
        };
        Rule: {
            /** @description Sources that may use the rule, and no others. Addresses, prefixes, and lists such as @office, at most 256. */
            allow_sources: string[] | null;
            /** @description Of a UDP rule: replies are capped until the caller has proved that they reach it. */
            amplification: {
                /** @description The cap ends with so many datagrams of the caller that each came after a reply; 0: never. Default 8. */
                proven_after?: number;
                /** @description Bytes of replies that a flow may send, for each byte of the caller. */
                ratio: number;
            } | null;
            /**
             * @description What becomes of live connections when the rule closes by its times.
             * @example drain
             * @enum {string}
             */
            at_end: "keep" | "drain" | "cut";
            /** @description How connections are spread over the targets of one priority; the next priority is the reserve. Null: one after the other, by priority. */
            balance: ("priority" | "round_robin" | "weighted" | "least_connections" | "source_hash" | "random_two") | null;
            /** @description Of a TCP rule: its agent bans sources that begin too many connections, or whose handshakes are wrong. */
            ban: {
                /** @description A source with more wrong handshakes in `within_secs` is banned: no or an unknown TLS name, or a PROXY header of somebody else. */
                failed_handshakes?: number | null;
                /** @description Of the first ban, default 600. Each further one within a day is twice as long, up to a week. */
                for_secs?: number | null;
                /**
                 * @description What becomes of open connections of a banned source. Default: cut.
                 * @enum {string}
                 */
                live?: "cut" | "keep";
                /** @description A source that begins more in `within_secs` is banned. */
                new_connections?: number | null;
                /** @description Default 60. */
                within_secs?: number | null;
            } | null;
            /** @description Null of a rule on several clients. */
            client_id: string | null;
            /**
             * @description Name of the client.
             * @example paris
             */
            client_name: string | null;
            /** @description A group of clients, in place of `client`: either ids or a selector. Each has the rule. */
            clients: {
                /** @description client_ids of the group, at most 1000. */
                ids?: string[];
                /**
                 * @description Labels of clients: the group has those that match, now and later.
                 * @example env=prod
                 */
                selector?: string;
            } | null;
            /**
             * Format: date-time
             * @description When it was created.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /** @description Sources that may not use the rule, even where allow_sources has them. Addresses, prefixes, and lists such as @office, at most 256. */
            deny_sources: string[] | null;
            /** @description Of a rule on several clients: its state on each, by their names. */
            edges: components["schemas"]["RuleEdge"][] | null;
            /**
             * @description The ETag of the rule, for If-Match: a change gives it another.
             * @example "7"
             */
            etag: string;
            /** @description The rule is closed from then on (RFC 3339), and removed expired_rules_keep_secs later. */
            expires_at: string | null;
            /** @description Seconds between connection attempts to each target. */
            health_check_interval_secs: number | null;
            /**
             * @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels: {
                [key: string]: string;
            };
            /**
             * @description Port on the client; of a range the first one.
             * @example 8443
             */
            listen_port: number;
            /**
             * @description Last port of a range; null: one port.
             * @example null
             */
            listen_port_end: number | null;
            /** @description The rule is closed until then (RFC 3339). */
            not_before: string | null;
            /**
             * @description user_id of the user whose rule it is.
             * @example ann
             */
            owner: string;
            /**
             * @description Its port stays taken, and nothing is forwarded.
             * @example false
             */
            paused: boolean;
            /**
             * @description The owner, or a superadmin: then grants do not limit the rule.
             * @example ann
             */
            placed_by: string;
            /**
             * @description The IPv6 addresses of a name are tried first.
             * @example false
             */
            prefer_ipv6: boolean;
            /**
             * @description What is forwarded.
             * @enum {string}
             */
            protocol: "tcp" | "udp";
            /** @description Addresses and prefixes of the proxies in front: they write a PROXY protocol header, others are refused. */
            proxy_in: string[] | null;
            /** @description Version of the PROXY protocol header that targets get before the first byte. */
            proxy_out: number | null;
            /**
             * @description Of a UDP rule with proxy_out: the first datagram of a flow has the header, or each.
             * @example first
             * @enum {string}
             */
            proxy_out_udp: "first" | "each";
            rate_limit: components["schemas"]["RateLimit"] | null;
            /**
             * @description ULID of a rule.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
             */
            rule_id: string;
            /** @description Weekly hours: outside of them the rule is closed. */
            schedule: {
                /**
                 * @description IANA name.
                 * @example Europe/Paris
                 */
                time_zone: string;
                /** @description 1 to 32; one past midnight is two. */
                windows: {
                    /**
                     * @description mon to sun.
                     * @example [
                     *       "mon",
                     *       "fri"
                     *     ]
                     */
                    days: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
                    /**
                     * @description Local time at which the window begins.
                     * @example 08:00
                     */
                    from: string;
                    /**
                     * @description Local time at which it ends, at most 24:00.
                     * @example 18:00
                     */
                    to: string;
                }[];
            } | null;
            /** @description A target whose connects take this much longer than is usual in its priority, and three times as long, is ejected for a time. 0: none is. Null: 250. */
            slow_connect_ms: number | null;
            /** @description How long the share of a target grows that returns or is new. 0: it has its whole share at once. Null: 10. */
            slow_start_secs: number | null;
            /** @description Takes connections without TLS or a matching name on its port. */
            sni_fallback: boolean;
            /** @description A TLS server name, or '*.' and a domain, which matches names with one more label. */
            sni_pattern: string | null;
            /** @description Of source_hash: callers whose IPv6 addresses have these first bits in common keep one target. Null: 128. */
            source_hash_ipv6_prefix: number | null;
            /** @description Limits for each source by itself, an IPv4 address or the /64 of an IPv6 address. With proxy_in it is the address that the header gives. */
            source_limit: {
                /** @description Connections and flows of one source at once. */
                connections?: number | null;
                /** @description Connections and flows that one source may begin in `within_secs`. */
                new_connections?: number | null;
                /** @description Of new_connections; default 10. */
                within_secs?: number | null;
            } | null;
            /**
             * @description active: the client forwards. paused: it keeps the port closed. failed: see `state_reason`. draining: live connections end.
             * @example active
             * @enum {string}
             */
            state: "pending" | "active" | "paused" | "failed" | "draining" | "partial" | "expired" | "outside_schedule";
            /**
             * Format: date-time
             * @description When its state changed last.
             * @example 2026-01-31T12:00:00.000Z
             */
            state_changed_at: string;
            /**
             * @description Why it is not active, as a code.
             * @example null
             */
            state_reason: string | null;
            /** @description Where connections go. */
            targets: components["schemas"]["Target"][];
            /**
             * Format: date-time
             * @description When it was changed last.
             * @example 2026-01-31T12:00:00.000Z
             */
            updated_at: string;
        };
        /**
         * @example {
         *       "client": "paris",
         *       "listen_port": 8443,
         *       "targets": [
         *         {
         *           "host": "10.0.0.7",
         *           "port": 443
         *         }
         *       ]
         *     }
         */
        RuleCreate: {
            /** @description Sources that may use the rule, and no others. Addresses, prefixes, and lists such as @office, at most 256. */
            allow_sources?: string[] | null;
            /** @description Of a UDP rule: replies are capped until the caller has proved that they reach it. */
            amplification?: {
                /** @description The cap ends with so many datagrams of the caller that each came after a reply; 0: never. Default 8. */
                proven_after?: number;
                /** @description Bytes of replies that a flow may send, for each byte of the caller. */
                ratio: number;
            } | null;
            /** @description What becomes of live connections when the rule closes by its times. */
            at_end?: ("keep" | "drain" | "cut") | null;
            /** @description How connections are spread over the targets of one priority; the next priority is the reserve. Null: one after the other, by priority. */
            balance?: ("priority" | "round_robin" | "weighted" | "least_connections" | "source_hash" | "random_two") | null;
            /** @description Of a TCP rule: its agent bans sources that begin too many connections, or whose handshakes are wrong. */
            ban?: {
                /** @description A source with more wrong handshakes in `within_secs` is banned: no or an unknown TLS name, or a PROXY header of somebody else. */
                failed_handshakes?: number | null;
                /** @description Of the first ban, default 600. Each further one within a day is twice as long, up to a week. */
                for_secs?: number | null;
                /**
                 * @description What becomes of open connections of a banned source. Default: cut.
                 * @enum {string}
                 */
                live?: "cut" | "keep";
                /** @description A source that begins more in `within_secs` is banned. */
                new_connections?: number | null;
                /** @description Default 60. */
                within_secs?: number | null;
            } | null;
            /**
             * @description client_id, or the name of one client.
             * @example paris
             */
            client?: string;
            /** @description A group of clients, in place of `client`: either ids or a selector. Each has the rule. */
            clients?: {
                /** @description client_ids of the group, at most 1000. */
                ids?: string[];
                /**
                 * @description Labels of clients: the group has those that match, now and later.
                 * @example env=prod
                 */
                selector?: string;
            } | null;
            /** @description Sources that may not use the rule, even where allow_sources has them. Addresses, prefixes, and lists such as @office, at most 256. */
            deny_sources?: string[] | null;
            /** @description The rule is closed from then on (RFC 3339), and removed expired_rules_keep_secs later. */
            expires_at?: string | null;
            /** @description Seconds between connection attempts to each target. */
            health_check_interval_secs?: number | null;
            /**
             * @description Of a client that is not connected. queue: the rule is pending until the client is back.
             * @default refuse
             * @enum {string}
             */
            if_offline?: "refuse" | "queue";
            /** @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit. */
            labels?: {
                [key: string]: string;
            } | null;
            /**
             * @description Port on the client; of a range the first one.
             * @example 8443
             */
            listen_port: number;
            /** @description Last port of a range that begins at listen_port. */
            listen_port_end?: number | null;
            /** @description The rule is closed until then (RFC 3339). */
            not_before?: string | null;
            /** @description user_id; default is the caller. */
            owner?: string;
            /**
             * @description Keep the port, and forward nothing; default false.
             * @example false
             */
            paused?: boolean;
            /** @description user_id, for superadmins: the owner if grants limit the rule; default is the caller. */
            placed_by?: string;
            /** @description Try the IPv6 addresses of a name first. */
            prefer_ipv6?: boolean;
            /**
             * @description tcp or udp, in any case.
             * @default tcp
             */
            protocol?: string;
            /** @description Addresses and prefixes of the proxies in front: they write a PROXY protocol header, others are refused. */
            proxy_in?: string[] | null;
            /** @description Version of the PROXY protocol header that targets get before the first byte. */
            proxy_out?: number | null;
            /** @description Of a UDP rule with proxy_out: the first datagram of a flow has the header, or each. */
            proxy_out_udp?: ("first" | "each") | null;
            rate_limit?: components["schemas"]["RateLimit"] | null;
            /** @description Weekly hours: outside of them the rule is closed. */
            schedule?: {
                /**
                 * @description IANA name.
                 * @example Europe/Paris
                 */
                time_zone: string;
                /** @description 1 to 32; one past midnight is two. */
                windows: {
                    /**
                     * @description mon to sun.
                     * @example [
                     *       "mon",
                     *       "fri"
                     *     ]
                     */
                    days: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
                    /**
                     * @description Local time at which the window begins.
                     * @example 08:00
                     */
                    from: string;
                    /**
                     * @description Local time at which it ends, at most 24:00.
                     * @example 18:00
                     */
                    to: string;
                }[];
            } | null;
            /** @description A target whose connects take this much longer than is usual in its priority, and three times as long, is ejected for a time. 0: none is. Null: 250. */
            slow_connect_ms?: number | null;
            /** @description How long the share of a target grows that returns or is new. 0: it has its whole share at once. Null: 10. */
            slow_start_secs?: number | null;
            /** @description Takes connections without TLS or a matching name on its port. */
            sni_fallback?: boolean | null;
            /** @description A TLS server name, or '*.' and a domain, which matches names with one more label. */
            sni_pattern?: string | null;
            /** @description Of source_hash: callers whose IPv6 addresses have these first bits in common keep one target. Null: 128. */
            source_hash_ipv6_prefix?: number | null;
            /** @description Limits for each source by itself, an IPv4 address or the /64 of an IPv6 address. With proxy_in it is the address that the header gives. */
            source_limit?: {
                /** @description Connections and flows of one source at once. */
                connections?: number | null;
                /** @description Connections and flows that one source may begin in `within_secs`. */
                new_connections?: number | null;
                /** @description Of new_connections; default 10. */
                within_secs?: number | null;
            } | null;
            /** @description 1 to 8, without duplicates. */
            targets: {
                /**
                 * @description IPv4, IPv6 with or without brackets, or a DNS name.
                 * @example 10.0.0.7
                 */
                host: string;
                /**
                 * @description Port of the target; of a range the first one.
                 * @example 443
                 */
                port: number;
                /**
                 * @description The lowest is tried first; default is the index.
                 * @example 0
                 */
                priority?: number;
                /**
                 * @description Share of the connections among targets of one priority, where the rule balances them; 0: no new ones.
                 * @default 1
                 * @example 1
                 */
                weight?: number;
            }[];
        };
        /**
         * @example {
         *       "client": "paris",
         *       "listen_port": 8443,
         *       "targets": [
         *         {
         *           "host": "10.0.0.7",
         *           "port": 443
         *         }
         *       ]
         *     }
         */
        RuleDefinition: {
            /** @description Sources that may use the rule, and no others. Addresses, prefixes, and lists such as @office, at most 256. */
            allow_sources?: string[] | null;
            /** @description Of a UDP rule: replies are capped until the caller has proved that they reach it. */
            amplification?: {
                /** @description The cap ends with so many datagrams of the caller that each came after a reply; 0: never. Default 8. */
                proven_after?: number;
                /** @description Bytes of replies that a flow may send, for each byte of the caller. */
                ratio: number;
            } | null;
            /** @description What becomes of live connections when the rule closes by its times. */
            at_end?: ("keep" | "drain" | "cut") | null;
            /** @description How connections are spread over the targets of one priority; the next priority is the reserve. Null: one after the other, by priority. */
            balance?: ("priority" | "round_robin" | "weighted" | "least_connections" | "source_hash" | "random_two") | null;
            /** @description Of a TCP rule: its agent bans sources that begin too many connections, or whose handshakes are wrong. */
            ban?: {
                /** @description A source with more wrong handshakes in `within_secs` is banned: no or an unknown TLS name, or a PROXY header of somebody else. */
                failed_handshakes?: number | null;
                /** @description Of the first ban, default 600. Each further one within a day is twice as long, up to a week. */
                for_secs?: number | null;
                /**
                 * @description What becomes of open connections of a banned source. Default: cut.
                 * @enum {string}
                 */
                live?: "cut" | "keep";
                /** @description A source that begins more in `within_secs` is banned. */
                new_connections?: number | null;
                /** @description Default 60. */
                within_secs?: number | null;
            } | null;
            /**
             * @description client_id, or the name of one client.
             * @example paris
             */
            client?: string;
            /** @description A group of clients, in place of `client`: either ids or a selector. Each has the rule. */
            clients?: {
                /** @description client_ids of the group, at most 1000. */
                ids?: string[];
                /**
                 * @description Labels of clients: the group has those that match, now and later.
                 * @example env=prod
                 */
                selector?: string;
            } | null;
            /** @description Sources that may not use the rule, even where allow_sources has them. Addresses, prefixes, and lists such as @office, at most 256. */
            deny_sources?: string[] | null;
            /** @description The rule is closed from then on (RFC 3339), and removed expired_rules_keep_secs later. */
            expires_at?: string | null;
            /** @description Seconds between connection attempts to each target. */
            health_check_interval_secs?: number | null;
            /** @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit. */
            labels?: {
                [key: string]: string;
            } | null;
            /**
             * @description Port on the client; of a range the first one.
             * @example 8443
             */
            listen_port: number;
            /** @description Last port of a range that begins at listen_port. */
            listen_port_end?: number | null;
            /** @description The rule is closed until then (RFC 3339). */
            not_before?: string | null;
            /** @description user_id; default is the caller. */
            owner?: string;
            /**
             * @description Keep the port, and forward nothing; default false.
             * @example false
             */
            paused?: boolean;
            /** @description user_id, for superadmins: the owner if grants limit the rule; default is the caller. */
            placed_by?: string;
            /** @description Try the IPv6 addresses of a name first. */
            prefer_ipv6?: boolean;
            /**
             * @description tcp or udp, in any case.
             * @default tcp
             */
            protocol?: string;
            /** @description Addresses and prefixes of the proxies in front: they write a PROXY protocol header, others are refused. */
            proxy_in?: string[] | null;
            /** @description Version of the PROXY protocol header that targets get before the first byte. */
            proxy_out?: number | null;
            /** @description Of a UDP rule with proxy_out: the first datagram of a flow has the header, or each. */
            proxy_out_udp?: ("first" | "each") | null;
            rate_limit?: components["schemas"]["RateLimit"] | null;
            /** @description Weekly hours: outside of them the rule is closed. */
            schedule?: {
                /**
                 * @description IANA name.
                 * @example Europe/Paris
                 */
                time_zone: string;
                /** @description 1 to 32; one past midnight is two. */
                windows: {
                    /**
                     * @description mon to sun.
                     * @example [
                     *       "mon",
                     *       "fri"
                     *     ]
                     */
                    days: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
                    /**
                     * @description Local time at which the window begins.
                     * @example 08:00
                     */
                    from: string;
                    /**
                     * @description Local time at which it ends, at most 24:00.
                     * @example 18:00
                     */
                    to: string;
                }[];
            } | null;
            /** @description A target whose connects take this much longer than is usual in its priority, and three times as long, is ejected for a time. 0: none is. Null: 250. */
            slow_connect_ms?: number | null;
            /** @description How long the share of a target grows that returns or is new. 0: it has its whole share at once. Null: 10. */
            slow_start_secs?: number | null;
            /** @description Takes connections without TLS or a matching name on its port. */
            sni_fallback?: boolean | null;
            /** @description A TLS server name, or '*.' and a domain, which matches names with one more label. */
            sni_pattern?: string | null;
            /** @description Of source_hash: callers whose IPv6 addresses have these first bits in common keep one target. Null: 128. */
            source_hash_ipv6_prefix?: number | null;
            /** @description Limits for each source by itself, an IPv4 address or the /64 of an IPv6 address. With proxy_in it is the address that the header gives. */
            source_limit?: {
                /** @description Connections and flows of one source at once. */
                connections?: number | null;
                /** @description Connections and flows that one source may begin in `within_secs`. */
                new_connections?: number | null;
                /** @description Of new_connections; default 10. */
                within_secs?: number | null;
            } | null;
            /** @description 1 to 8, without duplicates. */
            targets: {
                /**
                 * @description IPv4, IPv6 with or without brackets, or a DNS name.
                 * @example 10.0.0.7
                 */
                host: string;
                /**
                 * @description Port of the target; of a range the first one.
                 * @example 443
                 */
                port: number;
                /**
                 * @description The lowest is tried first; default is the index.
                 * @example 0
                 */
                priority?: number;
                /**
                 * @description Share of the connections among targets of one priority, where the rule balances them; 0: no new ones.
                 * @default 1
                 * @example 1
                 */
                weight?: number;
            }[];
        };
        /** @description The rule on one client. */
        RuleEdge: {
            /**
             * @description ULID of a client.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
             */
            client_id: string;
            /**
             * @description Name of the client.
             * @example paris
             */
            client_name: string;
            /**
             * @description As that of a rule of this client alone.
             * @example active
             */
            state: string;
            /**
             * @description Why it is not active, as a code.
             * @example null
             */
            state_reason: string | null;
        };
        RuleExplainBody: {
            /**
             * @description client_id, or the name of one client. Of a rule on several clients it says which is meant.
             * @example paris
             */
            client: string;
            /** @description A probe sends no byte to targets: it looks up and connects; default false. */
            dry?: boolean;
            /**
             * @description Port of the client.
             * @example 443
             */
            port: number;
            /** @description The agent goes the real way to each target, within 3 s; default false. */
            probe?: boolean;
            /**
             * @description What the caller sends.
             * @enum {string}
             */
            protocol: "tcp" | "udp";
            /**
             * @description The TLS server name that the caller asks for; default: none, as without TLS.
             * @example shop.example
             */
            sni?: string;
            /**
             * @description Address of the caller, of a proxy in front that of the proxy; default: nobody in particular.
             * @example 198.51.100.7
             */
            source?: string;
            /** @description The agent calls the port itself, from its own host, and sends one byte. Such a caller counts as any other; default false. */
            test_byte?: boolean;
        };
        RuleFieldUnsupportedByClientError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "rule_field_unsupported_by_client";
            };
        };
        RuleNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "rule_not_found";
            };
        };
        /**
         * @example {
         *       "targets": [
         *         {
         *           "host": "10.0.0.8",
         *           "port": 443
         *         }
         *       ]
         *     }
         */
        RulePatch: {
            /** @description Sources that may use the rule, and no others. Addresses, prefixes, and lists such as @office, at most 256. */
            allow_sources?: string[] | null;
            /** @description Of a UDP rule: replies are capped until the caller has proved that they reach it. */
            amplification?: {
                /** @description The cap ends with so many datagrams of the caller that each came after a reply; 0: never. Default 8. */
                proven_after?: number | null;
                /** @description Bytes of replies that a flow may send, for each byte of the caller. */
                ratio?: number | null;
            } | null;
            /** @description What becomes of live connections when the rule closes by its times. */
            at_end?: ("keep" | "drain" | "cut") | null;
            /** @description How connections are spread over the targets of one priority; the next priority is the reserve. Null: one after the other, by priority. */
            balance?: ("priority" | "round_robin" | "weighted" | "least_connections" | "source_hash" | "random_two") | null;
            /** @description Of a TCP rule: its agent bans sources that begin too many connections, or whose handshakes are wrong. */
            ban?: {
                /** @description A source with more wrong handshakes in `within_secs` is banned: no or an unknown TLS name, or a PROXY header of somebody else. */
                failed_handshakes?: (number | null) | null;
                /** @description Of the first ban, default 600. Each further one within a day is twice as long, up to a week. */
                for_secs?: (number | null) | null;
                /** @description What becomes of open connections of a banned source. Default: cut. */
                live?: ("cut" | "keep") | null;
                /** @description A source that begins more in `within_secs` is banned. */
                new_connections?: (number | null) | null;
                /** @description Default 60. */
                within_secs?: (number | null) | null;
            } | null;
            /** @description Does not change: taken when equal to what is there. */
            readonly client?: unknown;
            /** @description Does not change: taken when equal to what is there. */
            readonly client_id?: unknown;
            /** @description Does not change: taken when equal to what is there. */
            readonly client_name?: unknown;
            /** @description A group of clients, in place of `client`: either ids or a selector. Each has the rule. */
            clients?: {
                /** @description client_ids of the group, at most 1000. */
                ids?: string[] | null;
                /** @description Labels of clients: the group has those that match, now and later. */
                selector?: string | null;
            } | null;
            /** @description Does not change: taken when equal to what is there. */
            readonly created_at?: unknown;
            /** @description Sources that may not use the rule, even where allow_sources has them. Addresses, prefixes, and lists such as @office, at most 256. */
            deny_sources?: string[] | null;
            /** @description Does not change: taken when equal to what is there. */
            readonly edges?: unknown;
            /** @description Does not change: taken when equal to what is there. */
            readonly etag?: unknown;
            /** @description The rule is closed from then on (RFC 3339), and removed expired_rules_keep_secs later. */
            expires_at?: string | null;
            /** @description Seconds between connection attempts to each target. */
            health_check_interval_secs?: number | null;
            /** @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit. */
            labels?: {
                [key: string]: string | null;
            } | null;
            /**
             * @description Port on the client; of a range the first one.
             * @example 8443
             */
            listen_port?: number;
            /** @description Last port of a range that begins at listen_port. */
            listen_port_end?: number | null;
            /** @description The rule is closed until then (RFC 3339). */
            not_before?: string | null;
            /** @description Does not change: taken when equal to what is there. */
            readonly owner?: unknown;
            /** @description Keep the port, and forward nothing; default false. */
            paused?: boolean | null;
            /** @description user_id, for superadmins: the owner if grants limit the rule; default is the caller. */
            placed_by?: string;
            /** @description Try the IPv6 addresses of a name first. */
            prefer_ipv6?: boolean | null;
            /** @description Does not change: taken when equal to what is there. */
            readonly protocol?: unknown;
            /** @description Addresses and prefixes of the proxies in front: they write a PROXY protocol header, others are refused. */
            proxy_in?: string[] | null;
            /** @description Version of the PROXY protocol header that targets get before the first byte. */
            proxy_out?: number | null;
            /** @description Of a UDP rule with proxy_out: the first datagram of a flow has the header, or each. */
            proxy_out_udp?: ("first" | "each") | null;
            /** @description Its parts are merged. */
            rate_limit?: {
                /** @description Bits per second towards the targets. */
                bandwidth_in_bps?: number | null;
                /** @description Default: 100 ms of the rate, at least 16 KiB. */
                bandwidth_in_burst_bytes?: number | null;
                /** @description Bits per second towards the callers. */
                bandwidth_out_bps?: number | null;
                /** @description Default: 100 ms of the rate, at least 16 KiB. */
                bandwidth_out_burst_bytes?: number | null;
                /** @description Open at the same time; a UDP flow is a connection. */
                concurrent_connections?: number | null;
                /** @description Default: one second of the rate. */
                new_connections_burst?: number | null;
                /** @description A UDP flow is a connection. */
                new_connections_per_sec?: number | null;
            } | null;
            /** @description Does not change: taken when equal to what is there. */
            readonly rule_id?: unknown;
            /** @description Weekly hours: outside of them the rule is closed. */
            schedule?: {
                /** @description IANA name. */
                time_zone?: string | null;
                /** @description 1 to 32; one past midnight is two. */
                windows?: {
                    /**
                     * @description mon to sun.
                     * @example [
                     *       "mon",
                     *       "fri"
                     *     ]
                     */
                    days: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
                    /**
                     * @description Local time at which the window begins.
                     * @example 08:00
                     */
                    from: string;
                    /**
                     * @description Local time at which it ends, at most 24:00.
                     * @example 18:00
                     */
                    to: string;
                }[] | null;
            } | null;
            /** @description A target whose connects take this much longer than is usual in its priority, and three times as long, is ejected for a time. 0: none is. Null: 250. */
            slow_connect_ms?: number | null;
            /** @description How long the share of a target grows that returns or is new. 0: it has its whole share at once. Null: 10. */
            slow_start_secs?: number | null;
            /** @description Takes connections without TLS or a matching name on its port. */
            sni_fallback?: boolean | null;
            /** @description A TLS server name, or '*.' and a domain, which matches names with one more label. */
            sni_pattern?: string | null;
            /** @description Of source_hash: callers whose IPv6 addresses have these first bits in common keep one target. Null: 128. */
            source_hash_ipv6_prefix?: number | null;
            /** @description Limits for each source by itself, an IPv4 address or the /64 of an IPv6 address. With proxy_in it is the address that the header gives. */
            source_limit?: {
                /** @description Connections and flows of one source at once. */
                connections?: (number | null) | null;
                /** @description Connections and flows that one source may begin in `within_secs`. */
                new_connections?: (number | null) | null;
                /** @description Of new_connections; default 10. */
                within_secs?: (number | null) | null;
            } | null;
            /** @description Does not change: taken when equal to what is there. */
            readonly state?: unknown;
            /** @description Does not change: taken when equal to what is there. */
            readonly state_changed_at?: unknown;
            /** @description Does not change: taken when equal to what is there. */
            readonly state_reason?: unknown;
            /** @description 1 to 8, without duplicates. */
            targets?: {
                /** @description Ignored: read-only. */
                readonly health?: unknown;
                /**
                 * @description IPv4, IPv6 with or without brackets, or a DNS name.
                 * @example 10.0.0.7
                 */
                host: string;
                /**
                 * @description Port of the target; of a range the first one.
                 * @example 443
                 */
                port: number;
                /** @description Ignored: read-only. */
                readonly port_end?: unknown;
                /**
                 * @description The lowest is tried first; default is the index.
                 * @example 0
                 */
                priority?: number;
                /**
                 * @description Share of the connections among targets of one priority, where the rule balances them; 0: no new ones.
                 * @default 1
                 * @example 1
                 */
                weight?: number;
            }[];
            /** @description Does not change: taken when equal to what is there. */
            readonly updated_at?: unknown;
        };
        RuleShapeNotLoadedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "rule_shape_not_loaded";
            };
        };
        RuleStats: {
            /**
             * @description 0 once the client has been disconnected for 30 s.
             * @example 0
             */
            active_connections: number;
            /**
             * @description Open UDP flows.
             * @example 0
             */
            active_flows: number;
            /**
             * @description Delivered to the target.
             * @example 0
             */
            bytes_in: number;
            /**
             * @description Delivered to the caller.
             * @example 0
             */
            bytes_out: number;
            /** @description Null of a rule on several clients: all counts are sums. */
            client_id: string | null;
            /**
             * @description Accepted so far.
             * @example 17
             */
            connections_total: number;
            /**
             * @description Delivered to the target.
             * @example 0
             */
            datagrams_in: number;
            /**
             * @description Delivered to the caller.
             * @example 0
             */
            datagrams_out: number;
            /**
             * @description Connections and datagrams whose target had no address.
             * @example 0
             */
            dns_failures: number;
            /**
             * @description UDP flows refused, because the rule had too many.
             * @example 0
             */
            flows_dropped_overflow: number;
            /** @description With per_client=true. */
            per_client?: components["schemas"]["ClientStats"][];
            /** @description With per_port=true. */
            per_port?: components["schemas"]["PortStats"][];
            /** @description With per_target=true. */
            per_target?: components["schemas"]["TargetStats"][];
            /**
             * @description tcp or udp.
             * @example tcp
             */
            protocol: string;
            /**
             * @description Refused connections, and dropped datagrams, by reason.
             * @example {
             *       "descriptors": 1
             *     }
             */
            rejected: {
                [key: string]: number;
            };
            /**
             * @description ULID of a rule.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
             */
            rule_id: string;
            /**
             * @description Connections that went to another than the first target.
             * @example 0
             */
            target_failovers: number;
            /** @description When the client reported last. */
            updated_at: string | null;
        };
        /**
         * @example {
         *       "client": "paris",
         *       "listen_port": 8443,
         *       "targets": [
         *         {
         *           "host": "10.0.0.7",
         *           "port": 443
         *         }
         *       ]
         *     }
         */
        RuleUpdate: {
            /** @description Sources that may use the rule, and no others. Addresses, prefixes, and lists such as @office, at most 256. */
            allow_sources?: string[] | null;
            /** @description Of a UDP rule: replies are capped until the caller has proved that they reach it. */
            amplification?: {
                /** @description The cap ends with so many datagrams of the caller that each came after a reply; 0: never. Default 8. */
                proven_after?: number;
                /** @description Bytes of replies that a flow may send, for each byte of the caller. */
                ratio: number;
            } | null;
            /** @description What becomes of live connections when the rule closes by its times. */
            at_end?: ("keep" | "drain" | "cut") | null;
            /** @description How connections are spread over the targets of one priority; the next priority is the reserve. Null: one after the other, by priority. */
            balance?: ("priority" | "round_robin" | "weighted" | "least_connections" | "source_hash" | "random_two") | null;
            /** @description Of a TCP rule: its agent bans sources that begin too many connections, or whose handshakes are wrong. */
            ban?: {
                /** @description A source with more wrong handshakes in `within_secs` is banned: no or an unknown TLS name, or a PROXY header of somebody else. */
                failed_handshakes?: number | null;
                /** @description Of the first ban, default 600. Each further one within a day is twice as long, up to a week. */
                for_secs?: number | null;
                /**
                 * @description What becomes of open connections of a banned source. Default: cut.
                 * @enum {string}
                 */
                live?: "cut" | "keep";
                /** @description A source that begins more in `within_secs` is banned. */
                new_connections?: number | null;
                /** @description Default 60. */
                within_secs?: number | null;
            } | null;
            /**
             * @description client_id, or the name of one client.
             * @example paris
             */
            client?: string;
            /** @description Ignored: read-only. */
            readonly client_id?: unknown;
            /** @description Ignored: read-only. */
            readonly client_name?: unknown;
            /** @description A group of clients, in place of `client`: either ids or a selector. Each has the rule. */
            clients?: {
                /** @description client_ids of the group, at most 1000. */
                ids?: string[];
                /**
                 * @description Labels of clients: the group has those that match, now and later.
                 * @example env=prod
                 */
                selector?: string;
            } | null;
            /** @description Ignored: read-only. */
            readonly created_at?: unknown;
            /** @description Sources that may not use the rule, even where allow_sources has them. Addresses, prefixes, and lists such as @office, at most 256. */
            deny_sources?: string[] | null;
            /** @description Ignored: read-only. */
            readonly edges?: unknown;
            /** @description Ignored: read-only. */
            readonly etag?: unknown;
            /** @description The rule is closed from then on (RFC 3339), and removed expired_rules_keep_secs later. */
            expires_at?: string | null;
            /** @description Seconds between connection attempts to each target. */
            health_check_interval_secs?: number | null;
            /** @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit. */
            labels?: {
                [key: string]: string;
            } | null;
            /**
             * @description Port on the client; of a range the first one.
             * @example 8443
             */
            listen_port?: number;
            /** @description Last port of a range that begins at listen_port. */
            listen_port_end?: number | null;
            /** @description The rule is closed until then (RFC 3339). */
            not_before?: string | null;
            /** @description user_id; default is the caller. */
            owner?: string;
            /**
             * @description Keep the port, and forward nothing; default false.
             * @example false
             */
            paused?: boolean;
            /** @description user_id, for superadmins: the owner if grants limit the rule; default is the caller. */
            placed_by?: string;
            /** @description Try the IPv6 addresses of a name first. */
            prefer_ipv6?: boolean;
            /**
             * @description tcp or udp, in any case.
             * @default tcp
             */
            protocol?: string;
            /** @description Addresses and prefixes of the proxies in front: they write a PROXY protocol header, others are refused. */
            proxy_in?: string[] | null;
            /** @description Version of the PROXY protocol header that targets get before the first byte. */
            proxy_out?: number | null;
            /** @description Of a UDP rule with proxy_out: the first datagram of a flow has the header, or each. */
            proxy_out_udp?: ("first" | "each") | null;
            rate_limit?: components["schemas"]["RateLimit"] | null;
            /** @description Ignored: read-only. */
            readonly rule_id?: unknown;
            /** @description Weekly hours: outside of them the rule is closed. */
            schedule?: {
                /**
                 * @description IANA name.
                 * @example Europe/Paris
                 */
                time_zone: string;
                /** @description 1 to 32; one past midnight is two. */
                windows: {
                    /**
                     * @description mon to sun.
                     * @example [
                     *       "mon",
                     *       "fri"
                     *     ]
                     */
                    days: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
                    /**
                     * @description Local time at which the window begins.
                     * @example 08:00
                     */
                    from: string;
                    /**
                     * @description Local time at which it ends, at most 24:00.
                     * @example 18:00
                     */
                    to: string;
                }[];
            } | null;
            /** @description A target whose connects take this much longer than is usual in its priority, and three times as long, is ejected for a time. 0: none is. Null: 250. */
            slow_connect_ms?: number | null;
            /** @description How long the share of a target grows that returns or is new. 0: it has its whole share at once. Null: 10. */
            slow_start_secs?: number | null;
            /** @description Takes connections without TLS or a matching name on its port. */
            sni_fallback?: boolean | null;
            /** @description A TLS server name, or '*.' and a domain, which matches names with one more label. */
            sni_pattern?: string | null;
            /** @description Of source_hash: callers whose IPv6 addresses have these first bits in common keep one target. Null: 128. */
            source_hash_ipv6_prefix?: number | null;
            /** @description Limits for each source by itself, an IPv4 address or the /64 of an IPv6 address. With proxy_in it is the address that the header gives. */
            source_limit?: {
                /** @description Connections and flows of one source at once. */
                connections?: number | null;
                /** @description Connections and flows that one source may begin in `within_secs`. */
                new_connections?: number | null;
                /** @description Of new_connections; default 10. */
                within_secs?: number | null;
            } | null;
            /** @description Ignored: read-only. */
            readonly state?: unknown;
            /** @description Ignored: read-only. */
            readonly state_changed_at?: unknown;
            /** @description Ignored: read-only. */
            readonly state_reason?: unknown;
            /** @description 1 to 8, without duplicates. */
            targets?: {
                /** @description Ignored: read-only. */
                readonly health?: unknown;
                /**
                 * @description IPv4, IPv6 with or without brackets, or a DNS name.
                 * @example 10.0.0.7
                 */
                host: string;
                /**
                 * @description Port of the target; of a range the first one.
                 * @example 443
                 */
                port: number;
                /** @description Ignored: read-only. */
                readonly port_end?: unknown;
                /**
                 * @description The lowest is tried first; default is the index.
                 * @example 0
                 */
                priority?: number;
                /**
                 * @description Share of the connections among targets of one priority, where the rule balances them; 0: no new ones.
                 * @default 1
                 * @example 1
                 */
                weight?: number;
            }[];
            /** @description Ignored: read-only. */
            readonly updated_at?: unknown;
        };
        Server: {
            /**
             * Format: date-time
             * @description When the store saw it last, by the clock of the database.
             * @example 2026-01-31T12:00:00.000Z
             */
            last_seen_at: string;
            /**
             * @description What it alone does for all servers of the store.
             * @example [
             *       "stats.prune"
             *     ]
             */
            leader_of: string[];
            /**
             * @description `server_id` of its configuration, or made at its start.
             * @example gate-1
             */
            server_id: string;
            /**
             * @description Connected agents.
             * @example 12
             */
            sessions: number;
            /**
             * Format: date-time
             * @description When its process began, by its clock.
             * @example 2026-01-31T12:00:00.000Z
             */
            started_at: string;
            /**
             * @description Of sluice.
             * @example 2.0.0
             */
            version: string;
        };
        Session: {
            /**
             * Format: date-time
             * @description When it began.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /** @description The session of this request. */
            current: boolean;
            /**
             * Format: date-time
             * @description When it ends, if it is not used meanwhile.
             * @example 2026-01-31T12:00:00.000Z
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description When it was used last.
             * @example 2026-01-31T12:00:00.000Z
             */
            last_seen_at: string;
            /**
             * @description From where it was opened.
             * @example 198.51.100.7
             */
            remote_addr: string;
            /**
             * @description ULID.
             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NS
             */
            session_id: string;
        };
        SessionNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "session_not_found";
            };
        };
        /**
         * @example {
         *       "advertised_endpoint": "sluice.example.com:7443"
         *     }
         */
        SettingsUpdateBody: {
            /**
             * @description HOST:PORT at which agents reach the server; several in a list, or separated by commas; null clears.
             * @example sluice.example.com:7443
             */
            advertised_endpoint: string | string[] | null;
            /**
             * @description Why there is no effective endpoint.
             * @example null
             */
            diagnostic?: string | null;
            /** @description What enrollment URIs have, the first of `endpoints`; null: see `diagnostic`. */
            effective?: string | null;
            /**
             * @description All that agents try, each in an order of its own.
             * @example [
             *       "sluice.example.com:7443"
             *     ]
             */
            endpoints?: string[];
            /** @description What was set here, several separated by commas; null: nothing. */
            override?: string | null;
            /**
             * @description Where `effective` is from; the seed is in the configuration.
             * @enum {string|null}
             */
            source?: "override" | "seed" | "loopback" | null;
        };
        SetupTokenInvalidError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "setup_token_invalid";
            };
        };
        SetupTokenRequiredError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "setup_token_required";
            };
        };
        SniUnsupportedByClientError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "sni_unsupported_by_client";
            };
        };
        SourceList: {
            /**
             * @description Addresses and prefixes: 192.0.2.7, 192.0.2.0/24, 2001:db8::/32.
             * @example [
             *       "192.0.2.0/24",
             *       "2001:db8::/32"
             *     ]
             */
            entries: string[];
            /**
             * @description Entries, each once.
             * @example 2
             */
            entry_count: number;
            /**
             * @description Of the list; rules name it as @name.
             * @example office
             */
            name: string;
            /**
             * @description Rules that name the list.
             * @example 1
             */
            rule_count: number;
            /**
             * Format: date-time
             * @description When it was set last.
             * @example 2026-01-31T12:00:00.000Z
             */
            updated_at: string;
        };
        SourceListInUseError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "source_list_in_use";
            };
        };
        SourceListNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "source_list_not_found";
            };
        };
        SourceListRow: {
            /**
             * @description Entries, each once.
             * @example 2
             */
            entry_count: number;
            /**
             * @description Of the list; rules name it as @name.
             * @example office
             */
            name: string;
            /**
             * @description Rules that name the list.
             * @example 1
             */
            rule_count: number;
            /**
             * Format: date-time
             * @description When it was set last.
             * @example 2026-01-31T12:00:00.000Z
             */
            updated_at: string;
        };
        SourceListSetBody: {
            /**
             * @description Addresses and prefixes: 192.0.2.7, 192.0.2.0/24, 2001:db8::/32.
             * @example [
             *       "192.0.2.0/24",
             *       "2001:db8::/32"
             *     ]
             */
            entries: string[];
        };
        StatsSummary: {
            /**
             * @description Open now.
             * @example 2
             */
            active_connections: number;
            /**
             * @description Delivered to targets by existing rules.
             * @example 0
             */
            bytes_in: number;
            /**
             * @description Delivered to callers by existing rules.
             * @example 0
             */
            bytes_out: number;
            /** @description Counts of clients. */
            clients: {
                /**
                 * @description With a control stream.
                 * @example 2
                 */
                connected: number;
                /**
                 * @description All.
                 * @example 3
                 */
                total: number;
            };
            /** @description Counts of rules. */
            rules: {
                /**
                 * @description Forwarding.
                 * @example 3
                 */
                active: number;
                /**
                 * @description Refused by their clients.
                 * @example 0
                 */
                failed: number;
                /**
                 * @description Of any state.
                 * @example 3
                 */
                total: number;
            };
        };
        StoreOutcomeUnknownError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "store_outcome_unknown";
            };
        };
        StoreUnavailableError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "store_unavailable";
            };
        };
        Target: {
            health: components["schemas"]["TargetHealth"];
            /**
             * @description Address or DNS name, normalised.
             * @example 10.0.0.7
             */
            host: string;
            /**
             * @description Port of the target; of a range the first one.
             * @example 443
             */
            port: number;
            /**
             * @description Port for the last port of a range; null: one port.
             * @example null
             */
            port_end: number | null;
            /**
             * @description The lowest is tried first.
             * @example 0
             */
            priority: number;
            /**
             * @description Share of the connections among targets of one priority, where the rule balances them; 0: no new ones.
             * @example 1
             */
            weight: number;
        };
        TargetFilterUnsupportedByClientError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "target_filter_unsupported_by_client";
            };
        };
        /** @description Whether the client reaches the target. */
        TargetHealth: {
            /** @description Failed dials since the last good one. */
            consecutive_failures: number;
            /**
             * @description Why it is ejected: `slow_connect`, or the reason of its last failure, such as `timeout`.
             * @example null
             */
            ejected_reason: string | null;
            /**
             * @description Until when it is not dialed while others are left; null: it is not ejected.
             * @example null
             */
            ejected_until: string | null;
            /**
             * @description When a dial failed last.
             * @example null
             */
            last_failure_at: string | null;
            /** @description When a dial succeeded last. */
            last_success_at: string | null;
            /**
             * @description As the client judges it.
             * @enum {string}
             */
            state: "healthy" | "failed" | "unknown";
        };
        TargetNotGrantedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "target_not_granted";
            };
        };
        TargetStats: {
            /**
             * @description Delivered to the target.
             * @example 1200
             */
            bytes_in: number;
            /**
             * @description Delivered to the caller.
             * @example 56000
             */
            bytes_out: number;
            /**
             * @description Accepted so far.
             * @example 17
             */
            connections_total: number;
            /**
             * @description Failed dials since the last good one.
             * @example 0
             */
            consecutive_failures: number;
            /**
             * @description As its client judges it.
             * @enum {string}
             */
            health: "healthy" | "failed" | "unknown";
            /**
             * @description Host of the target.
             * @example 10.0.0.7
             */
            host: string;
            /**
             * @description Port of the target.
             * @example 443
             */
            port: number;
            /**
             * @description The lowest is tried first.
             * @example 0
             */
            priority: number;
        };
        Traffic: {
            /**
             * @description What a sample stands for: a minute or an hour.
             * @enum {string}
             */
            bucket: "1m" | "1h";
            /** @description Minutes or hours without traffic are left out. */
            samples: {
                /**
                 * @description Delivered to targets.
                 * @example 1200
                 */
                bytes_in: number;
                /**
                 * @description Delivered to callers.
                 * @example 56000
                 */
                bytes_out: number;
                /**
                 * @description Start of the minute or hour of delivery, Unix seconds.
                 * @example 1767225600
                 */
                ts: number;
            }[];
            /**
             * @description Sum over all samples.
             * @example 1200
             */
            total_bytes_in: number;
            /**
             * @description Sum over all samples.
             * @example 56000
             */
            total_bytes_out: number;
        };
        UnauthenticatedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "unauthenticated";
            };
        };
        UnderAttack: {
            /** @description Of the client; null: clients that enroll while the switch is on for all. */
            client_id: string | null;
            /** @description Name of the client. */
            client_name: string | null;
            /**
             * @description Connections and flows that a source may have open, on rules without a limit for sources.
             * @example 20
             */
            connections: number;
            /**
             * Format: date-time
             * @description When it was turned on.
             * @example 2026-01-31T12:00:00.000Z
             */
            from: string;
            /**
             * @description user_id of the operator.
             * @example root
             */
            made_by: string;
            /**
             * @description Connections and flows that it may begin there in `within_secs`.
             * @example 20
             */
            new_connections: number;
            /** @description As the operator has given it. */
            reason: string | null;
            /**
             * Format: date-time
             * @description When it ends by itself.
             * @example 2026-01-31T12:00:00.000Z
             */
            until: string;
            /**
             * @description Of new_connections.
             * @example 10
             */
            within_secs: number;
        };
        /**
         * @example {
         *       "for_secs": 7200,
         *       "reason": "flood since noon"
         *     }
         */
        UnderAttackOnBody: {
            /**
             * @description Connections and flows that a source may have open, on rules without a limit for sources.
             * @example 20
             */
            connections?: number;
            /** @description Default 3600. */
            for_secs?: number;
            /**
             * @description Connections and flows that it may begin there in `within_secs`.
             * @example 20
             */
            new_connections?: number;
            /** @description For those who look later. */
            reason?: string;
            /**
             * @description Of new_connections.
             * @example 10
             */
            within_secs?: number;
        };
        /**
         * @example {
         *       "for_secs": 7200,
         *       "reason": "flood since noon"
         *     }
         */
        UnderAttackOnForAllBody: {
            /**
             * @description Connections and flows that a source may have open, on rules without a limit for sources.
             * @example 20
             */
            connections?: number;
            /** @description Default 3600. */
            for_secs?: number;
            /**
             * @description Connections and flows that it may begin there in `within_secs`.
             * @example 20
             */
            new_connections?: number;
            /** @description For those who look later. */
            reason?: string;
            /**
             * @description Of new_connections.
             * @example 10
             */
            within_secs?: number;
        };
        UnderAttackOnForAllReply: {
            /** @description One for each client, and one for those that enroll. */
            under_attack: components["schemas"]["UnderAttack"][];
        };
        UnderAttackUnsupportedByClientError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "under_attack_unsupported_by_client";
            };
        };
        UnsupportedMediaTypeError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "unsupported_media_type";
            };
        };
        UnsupportedProtocolError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "unsupported_protocol";
            };
        };
        User: {
            /**
             * Format: date-time
             * @description When the user was created.
             * @example 2026-01-31T12:00:00.000Z
             */
            created_at: string;
            /** @description Credentials that are neither revoked nor expired. */
            credential_count: number;
            /** @description May not sign in, and the credentials are refused. */
            disabled: boolean;
            /**
             * @description 1 to 64 characters.
             * @example Ann Miller
             */
            display_name: string;
            /** @description Grants of the user. */
            grant_count: number;
            /**
             * @description What the record is, in words of its operators.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels: {
                [key: string]: string;
            };
            /** @description The password is a temporary one. */
            password_change_required: boolean;
            /**
             * @description A superadmin sees and changes everything.
             * @enum {string}
             */
            role: "superadmin" | "user";
            /** @description In any state. */
            rule_count: number;
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        UserAlreadyExistsError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "user_already_exists";
            };
        };
        UserCreateBody: {
            /**
             * @description 1 to 64 characters.
             * @example Ann Miller
             */
            display_name: string;
            /** @description 12 to 1024 bytes. Without it: no web login. */
            initial_password?: string;
            /**
             * @description At most 32. A key is a name of 1 to 63 letters, digits, -, _ and ., perhaps after a DNS name and /. A value is empty, or 1 to 63 letters, digits, -, _ and . that begin and end with a letter or digit.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels?: {
                [key: string]: string;
            };
            /** @description The initial password must be changed at the first login, within 24 hours. */
            password_change_required?: boolean;
            /**
             * @description A superadmin sees and changes everything.
             * @default user
             * @enum {string}
             */
            role?: "superadmin" | "user";
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        UserDeleteReply: {
            /**
             * @description Ids of what went with the user.
             * @example []
             */
            removed_credential_ids: string[];
            /**
             * @description Ids of what went with the user.
             * @example []
             */
            removed_grant_ids: string[];
            /**
             * @description Ids of what went with the user.
             * @example []
             */
            removed_rule_ids: string[];
            /**
             * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
             * @example ann
             */
            user_id: string;
        };
        UserDisabledError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "user_disabled";
            };
        };
        UserNotFoundError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "user_not_found";
            };
        };
        UserUpdateBody: {
            /** @description Ends the sessions and refuses the credentials; the rules keep running. */
            disabled?: boolean;
            /**
             * @description 1 to 64 characters.
             * @example Ann Miller
             */
            display_name?: string;
            /**
             * @description Labels to set; null removes one, or all. At most 32 in all.
             * @example {
             *       "env": "prod",
             *       "example.com/tier": "db"
             *     }
             */
            labels?: {
                [key: string]: string | null;
            } | null;
            /**
             * @description A superadmin sees and changes everything.
             * @enum {string}
             */
            role?: "superadmin" | "user";
        };
        ValidationAmplificationError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.amplification";
            };
        };
        ValidationBalanceError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.balance";
            };
        };
        ValidationBanError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.ban";
            };
        };
        ValidationBodyEmptyError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.body_empty";
            };
        };
        ValidationClientsError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.clients";
            };
        };
        ValidationConnectionFilterError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.connection_filter";
            };
        };
        ValidationExpiresInPastError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.expires_in_past";
            };
        };
        ValidationGrantTargetError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.grant_target";
            };
        };
        ValidationHealthOnUdpError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.health_on_udp";
            };
        };
        ValidationIdempotencyKeyError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.idempotency_key";
            };
        };
        ValidationLabelsError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.labels";
            };
        };
        ValidationLabelsMissingError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.labels_missing";
            };
        };
        ValidationProtocolError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.protocol";
            };
        };
        ValidationProxyInError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.proxy_in";
            };
        };
        ValidationProxyOutError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.proxy_out";
            };
        };
        ValidationRangeInvalidError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.range_invalid";
            };
        };
        ValidationRangeTooWideError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.range_too_wide";
            };
        };
        ValidationRateLimitBurstWithoutRateError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.rate_limit_burst_without_rate";
            };
        };
        ValidationRateLimitEmptyError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.rate_limit_empty";
            };
        };
        ValidationRateLimitMissingError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.rate_limit_missing";
            };
        };
        ValidationRateLimitRangeError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.rate_limit_range";
            };
        };
        ValidationRuleImmutableFieldError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.rule_immutable_field";
            };
        };
        ValidationScheduleError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.schedule";
            };
        };
        ValidationScheduleMissingError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.schedule_missing";
            };
        };
        ValidationSchemaError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.schema";
            };
        };
        ValidationSelectorError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.selector";
            };
        };
        ValidationSniOnUnsupportedRuleError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.sni_on_unsupported_rule";
            };
        };
        ValidationSniPatternMalformedError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.sni_pattern_malformed";
            };
        };
        ValidationSourceLimitError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.source_limit";
            };
        };
        ValidationSourcesError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.sources";
            };
        };
        ValidationTargetHostError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.target_host";
            };
        };
        ValidationTargetsDuplicateError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.targets_duplicate";
            };
        };
        ValidationTargetsEmptyError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.targets_empty";
            };
        };
        ValidationTargetsTooManyError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.targets_too_many";
            };
        };
        ValidationTimeZoneError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.time_zone";
            };
        };
        ValidationUnknownFieldError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.unknown_field";
            };
        };
        ValidationUnknownParameterError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.unknown_parameter";
            };
        };
        ValidationWeightError: components["schemas"]["Error"] & {
            error?: {
                /** @constant */
                code?: "validation.weight";
            };
        };
    };
    responses: {
        /** @description Gateway Timeout: `ack_timeout`. */
        AckTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["AckTimeoutError"];
            };
        };
        /** @description Not Found: `ban_not_found`. */
        BanNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["BanNotFoundError"];
            };
        };
        /** @description Payload Too Large: `body_too_large`. */
        BodyTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["BodyTooLargeError"];
            };
        };
        /** @description Not Found: `client_not_found`. */
        ClientNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ClientNotFoundError"];
            };
        };
        /** @description Not Found: `connection_not_found`. */
        ConnectionNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ConnectionNotFoundError"];
            };
        };
        /** @description Not Found: `enrollment_not_found`. */
        EnrollmentNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["EnrollmentNotFoundError"];
            };
        };
        /** @description Forbidden: `password_change_required`, `role_required`. */
        Forbidden: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["RoleRequiredError"];
            };
        };
        /** @description Forbidden: `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `password_change_required`, `role_required`. */
        ForbiddenChange: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["RoleRequiredError"];
            };
        };
        /** @description Not Found: `grant_not_found`. */
        GrantNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["GrantNotFoundError"];
            };
        };
        /** @description Request Header Fields Too Large: `headers_too_large`. */
        HeadersTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["HeadersTooLargeError"];
            };
        };
        /** @description Conflict: `idempotency_in_progress`, `idempotency_secret_spent`. */
        IdempotencyConflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"];
            };
        };
        /** @description Unprocessable Entity: `idempotency_key_reused`. */
        IdempotencyKeyReused: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["IdempotencyKeyReusedError"];
            };
        };
        /** @description Not Found: `installer_unavailable`. */
        InstallerUnavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["InstallerUnavailableError"];
            };
        };
        /** @description Internal Server Error: `internal`. */
        Internal: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["InternalError"];
            };
        };
        /** @description Bad Request: `invalid_cursor`, `invalid_limit`, `validation.schema`, `validation.unknown_parameter`. */
        InvalidPage: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["InvalidCursorError"] | components["schemas"]["InvalidLimitError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownParameterError"];
            };
        };
        /** @description Bad Request: `invalid_json`, `validation.idempotency_key`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
        InvalidRequest: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
            };
        };
        /** @description Unprocessable Entity: `limit_reached`. */
        LimitReached: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["LimitReachedError"];
            };
        };
        /** @description Not Found: `not_found`. */
        NotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["NotFoundError"];
            };
        };
        /** @description Forbidden: `password_change_required`. */
        PasswordChangeRequired: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["PasswordChangeRequiredError"];
            };
        };
        /** @description Unprocessable Entity: `quota_bucket_out_of_retention`. */
        QuotaBucketOutOfRetention: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["QuotaBucketOutOfRetentionError"];
            };
        };
        /** @description Too Many Requests: `rate_limited`. */
        RateLimited: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["RateLimitedError"];
            };
        };
        /** @description Request Timeout: `request_timeout`. */
        RequestTimeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["RequestTimeoutError"];
            };
        };
        /** @description Precondition Failed: `resource_changed`. */
        ResourceChanged: {
            headers: {
                ETag: components["headers"]["ETag"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ResourceChangedError"];
            };
        };
        /** @description Not Found: `rule_not_found`. */
        RuleNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["RuleNotFoundError"];
            };
        };
        /** @description Not Found: `source_list_not_found`. */
        SourceListNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["SourceListNotFoundError"];
            };
        };
        /** @description Service Unavailable: `store_unavailable`. */
        StoreUnavailable: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["StoreUnavailableError"];
            };
        };
        /** @description Unauthorized: `unauthenticated`, `user_disabled`. */
        Unauthenticated: {
            headers: {
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["UnauthenticatedError"] | components["schemas"]["UserDisabledError"];
            };
        };
        /** @description Service Unavailable: `bootstrap_required`, `store_unavailable`. */
        Unavailable: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["BootstrapRequiredError"] | components["schemas"]["StoreUnavailableError"];
            };
        };
        /** @description Service Unavailable: `bootstrap_required`, `store_outcome_unknown`, `store_unavailable`. */
        UnavailableChange: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["BootstrapRequiredError"] | components["schemas"]["StoreOutcomeUnknownError"] | components["schemas"]["StoreUnavailableError"];
            };
        };
        /** @description Unsupported Media Type: `unsupported_media_type`. */
        UnsupportedMediaType: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["UnsupportedMediaTypeError"];
            };
        };
        /** @description Not Found: `user_not_found`. */
        UserNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["UserNotFoundError"];
            };
        };
        /** @description Bad Request: `validation.unknown_parameter`. */
        ValidationUnknownParameter: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ValidationUnknownParameterError"];
            };
        };
    };
    parameters: {
        /**
         * @description A retry with the same key and body, within 24 hours, gets the first response.
         * @example push-8443-of-paris
         */
        IdempotencyKey: string;
        /**
         * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
         * @example "42"
         */
        IfMatch: string;
        /**
         * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
         * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
         */
        Traceparent: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description The version of the record, for `If-Match`; absent where it has none.
         * @example "42"
         */
        ETag: string;
        /**
         * @description The next page, with `rel="next"`; absent on the last.
         * @example </v1/rules?limit=100&cursor=PTAxS0I>; rel="next"
         */
        Link: string;
        /**
         * @description Seconds to wait; absent where the server cannot know.
         * @example 60
         */
        "Retry-After": number;
        /**
         * @description Always `Bearer`.
         * @example Bearer
         */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    "apply.check": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["Document"];
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request: `invalid_billing_anchor`, `invalid_json`, `invalid_quota_size`, `validation.amplification`, `validation.balance`, `validation.ban`, `validation.clients`, `validation.idempotency_key`, `validation.labels`, `validation.protocol`, `validation.proxy_in`, `validation.proxy_out`, `validation.range_invalid`, `validation.rate_limit_range`, `validation.schedule`, `validation.schema`, `validation.sni_pattern_malformed`, `validation.source_limit`, `validation.sources`, `validation.target_host`, `validation.time_zone`, `validation.unknown_field`, `validation.unknown_parameter`, `validation.weight`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidBillingAnchorError"] | components["schemas"]["InvalidJsonError"] | components["schemas"]["InvalidQuotaSizeError"] | components["schemas"]["ValidationAmplificationError"] | components["schemas"]["ValidationBalanceError"] | components["schemas"]["ValidationBanError"] | components["schemas"]["ValidationClientsError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationProtocolError"] | components["schemas"]["ValidationProxyInError"] | components["schemas"]["ValidationProxyOutError"] | components["schemas"]["ValidationRangeInvalidError"] | components["schemas"]["ValidationRateLimitRangeError"] | components["schemas"]["ValidationScheduleError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSniPatternMalformedError"] | components["schemas"]["ValidationSourceLimitError"] | components["schemas"]["ValidationSourcesError"] | components["schemas"]["ValidationTargetHostError"] | components["schemas"]["ValidationTimeZoneError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"] | components["schemas"]["ValidationWeightError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `invalid_port_range`, `invalid_role`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["InvalidPortRangeError"] | components["schemas"]["InvalidRoleError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "apply.kinds": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "name" | "-name";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "name": "rules",
                     *         "defaults": {
                     *           "paused": false
                     *         },
                     *         "distinguishing": [
                     *           "sni_pattern"
                     *         ]
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["DocumentKind"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "apply.begin": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "lease_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NL",
                     *       "ttl_secs": 60
                     *     }
                     */
                    "application/json": components["schemas"]["ApplyLease"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `apply_in_progress`, `idempotency_in_progress`, `idempotency_secret_spent`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApplyInProgressError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "apply.renew": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NL
                 */
                lease_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "lease_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NL",
                     *       "ttl_secs": 60
                     *     }
                     */
                    "application/json": components["schemas"]["ApplyLease"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "apply.end": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NL
                 */
                lease_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "audit.list": {
        parameters: {
            query?: {
                /** @description Only this action, such as rule.create; rule.* is every action of rules. */
                action?: string;
                /** @description Only what this user_id did, or was refused. */
                actor?: string;
                /** @description next_cursor of a page; empty: the newest. */
                cursor?: string;
                /** @description Default 100. */
                limit?: number;
                /** @description Only entries with this outcome. */
                outcome?: "allow" | "deny";
                /** @description Only what this request did: its x-request-id. */
                request_id?: string;
                /** @description The oldest time. RFC 3339. */
                since?: string;
                /** @description The newest time, inclusive. RFC 3339. */
                until?: string;
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NU",
                     *         "timestamp": "2026-01-31T12:00:00.000Z",
                     *         "actor": "ann",
                     *         "role": "superadmin",
                     *         "auth_method": "api_token",
                     *         "remote_addr": "198.51.100.7",
                     *         "method": "POST",
                     *         "path": "/v1/rules",
                     *         "action": "rule.create",
                     *         "resource_kind": "rule",
                     *         "resource_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *         "outcome": "allow",
                     *         "status": 201,
                     *         "reason": null,
                     *         "changes": null,
                     *         "request_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NR",
                     *         "count": 1
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["AuditEntry"][] | components["schemas"]["AuditPage"];
                };
            };
            /** @description Bad Request: `invalid_cursor`, `invalid_limit`, `invalid_outcome`, `invalid_time_range`, `invalid_timestamp`, `validation.schema`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidCursorError"] | components["schemas"]["InvalidLimitError"] | components["schemas"]["InvalidOutcomeError"] | components["schemas"]["InvalidTimeRangeError"] | components["schemas"]["InvalidTimestampError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "auth.login": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user_id": "ann",
                 *       "password": "correct horse battery staple"
                 *     }
                 */
                "application/json": components["schemas"]["AuthLoginBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "password_change_required": false
                     *     }
                     */
                    "application/json": components["schemas"]["AuthLoginReply"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            /** @description Unauthorized: `invalid_login`, `user_disabled`. */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidLoginError"] | components["schemas"]["UserDisabledError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            /** @description Service Unavailable: `busy`, `store_outcome_unknown`, `store_unavailable`. */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BusyError"] | components["schemas"]["StoreOutcomeUnknownError"] | components["schemas"]["StoreUnavailableError"];
                };
            };
        };
    };
    "auth.logout": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request: `invalid_json`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "auth.onboard": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user_id": "ann",
                 *       "display_name": "Ann Miller",
                 *       "password": "correct horse battery staple",
                 *       "password_confirm": "correct horse battery staple",
                 *       "setup_token": "EXAMPLE-setup-token-of-43-characters-in-all"
                 *     }
                 */
                "application/json": components["schemas"]["AuthOnboardBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user_id": "ann",
                     *       "display_name": "Ann Miller",
                     *       "role": "superadmin"
                     *     }
                     */
                    "application/json": components["schemas"]["AuthOnboardReply"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            /** @description Unauthorized: `setup_token_invalid`, `setup_token_required`. */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SetupTokenInvalidError"] | components["schemas"]["SetupTokenRequiredError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `already_bootstrapped`, `user_already_exists`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlreadyBootstrappedError"] | components["schemas"]["UserAlreadyExistsError"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `invalid_display_name`, `invalid_user_id`, `password_mismatch`, `password_too_long`, `password_too_short`, `reserved_user_id`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidDisplayNameError"] | components["schemas"]["InvalidUserIdError"] | components["schemas"]["PasswordMismatchError"] | components["schemas"]["PasswordTooLongError"] | components["schemas"]["PasswordTooShortError"] | components["schemas"]["ReservedUserIdError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            /** @description Service Unavailable: `busy`, `store_outcome_unknown`, `store_unavailable`. */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BusyError"] | components["schemas"]["StoreOutcomeUnknownError"] | components["schemas"]["StoreUnavailableError"];
                };
            };
        };
    };
    "auth.status": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "onboarding_required": false
                     *     }
                     */
                    "application/json": components["schemas"]["AuthStatusReply"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    "ban.list": {
        parameters: {
            query?: {
                /**
                 * @description Only rows with this value.
                 * @example operator
                 */
                cause?: "operator" | "new_connections" | "failed_handshakes";
                /** @description client_id. */
                client?: string;
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /**
                 * @description Only rows with this value.
                 * @example cut
                 */
                live?: "cut" | "keep";
                /** @description Bans from this rule, and those from all rules of its clients. */
                rule_id?: string;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "ban_id" | "-ban_id" | "source" | "-source" | "client_id" | "-client_id" | "client_name" | "-client_name" | "rule_id" | "-rule_id" | "cause" | "-cause" | "reason" | "-reason" | "made_by" | "-made_by" | "times" | "-times" | "live" | "-live" | "from" | "-from" | "until" | "-until" | "state" | "-state" | "lifted_by" | "-lifted_by";
                /** @description Default in_force; all: also those that ended within 30 days. */
                state?: "in_force" | "all";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "ban_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NC",
                     *         "source": "198.51.100.7",
                     *         "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *         "client_name": "text",
                     *         "rule_id": "text",
                     *         "cause": "operator",
                     *         "reason": "text",
                     *         "made_by": "text",
                     *         "times": 1,
                     *         "live": "cut",
                     *         "from": "2026-01-31T12:00:00.000Z",
                     *         "until": "2026-01-31T12:00:00.000Z",
                     *         "state": "in_force",
                     *         "lifted_by": "text"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Ban"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "ban.create": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "source": "198.51.100.7",
                 *       "for_secs": 86400,
                 *       "reason": "scans"
                 *     }
                 */
                "application/json": components["schemas"]["BanCreateBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "bans": [
                     *         {
                     *           "ban_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NC",
                     *           "source": "198.51.100.7",
                     *           "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *           "client_name": "text",
                     *           "rule_id": "text",
                     *           "cause": "operator",
                     *           "reason": "text",
                     *           "made_by": "text",
                     *           "times": 1,
                     *           "live": "cut",
                     *           "from": "2026-01-31T12:00:00.000Z",
                     *           "until": "2026-01-31T12:00:00.000Z",
                     *           "state": "in_force",
                     *           "lifted_by": "text"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["BanCreateReply"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.ban`, `validation.idempotency_key`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationBanError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            /** @description Not Found: `client_not_found`, `rule_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["RuleNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `bans_unsupported_by_client`, `idempotency_key_reused`, `limit_reached`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BansUnsupportedByClientError"] | components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["LimitReachedError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "ban.lift": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                ban_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["BanNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "change.last": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "last": 1767225600001,
                     *       "pages": "9f86d081884c7d65"
                     *     }
                     */
                    "application/json": components["schemas"]["ChangeLastReply"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "enrollment.list": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "enrollment_id" | "-enrollment_id" | "client_id" | "-client_id" | "client_name" | "-client_name" | "address" | "-address" | "created_by" | "-created_by" | "created_at" | "-created_at" | "expires_at" | "-expires_at";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "enrollment_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NE",
                     *         "client_id": null,
                     *         "client_name": "paris",
                     *         "address": "paris.example.net",
                     *         "created_by": "ann",
                     *         "created_at": "2026-01-31T12:00:00.000Z",
                     *         "expires_at": "2026-01-31T12:00:00.000Z",
                     *         "labels": {
                     *           "env": "prod",
                     *           "example.com/tier": "db"
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Enrollment"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "enrollment.create": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "paris",
                 *       "address": "paris.example.net",
                 *       "ttl_secs": 600,
                 *       "labels": {
                 *         "env": "prod",
                 *         "example.com/tier": "db"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["EnrollmentCreateBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "enrollment_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NE",
                     *       "client_name": "paris",
                     *       "expires_at": "2026-01-31T12:00:00.000Z",
                     *       "command": "sluice agent enroll 'svc://sluice.example.com:7443/enroll?pin=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef&code=EXAMPLE-of-a-one-time-code-of-43-characters'",
                     *       "uri": "svc://sluice.example.com:7443/enroll?pin=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef&code=EXAMPLE-of-a-one-time-code-of-43-characters"
                     *     }
                     */
                    "application/json": components["schemas"]["Invitation"];
                };
            };
            /** @description Bad Request: `invalid_client_address`, `invalid_client_name`, `invalid_enrollment_ttl`, `invalid_json`, `validation.idempotency_key`, `validation.labels`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidClientAddressError"] | components["schemas"]["InvalidClientNameError"] | components["schemas"]["InvalidEnrollmentTtlError"] | components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `endpoint_invalid`, `endpoint_not_in_cert_san`, `idempotency_key_reused`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointInvalidError"] | components["schemas"]["EndpointNotInCertSanError"] | components["schemas"]["IdempotencyKeyReusedError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "enrollment.cancel": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NE
                 */
                enrollment_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["EnrollmentNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "client.list": {
        parameters: {
            query?: {
                /** @description Only rows with this value. */
                connected?: boolean;
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /**
                 * @description Labels of the rows, in the syntax of Kubernetes: env=prod,tier!=db,!old,zone in (a,b). `!=` and `notin` also match rows without the label.
                 * @example env=prod,tier!=db
                 */
                selector?: string;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "client_id" | "-client_id" | "client_name" | "-client_name" | "address" | "-address" | "state" | "-state" | "connected" | "-connected" | "remote_addr" | "-remote_addr" | "connected_at" | "-connected_at" | "last_seen_at" | "-last_seen_at" | "agent_version" | "-agent_version" | "enrolled_at" | "-enrolled_at" | "revoked_at" | "-revoked_at";
                /**
                 * @description Only rows with this value.
                 * @example connected
                 */
                state?: "connected" | "disconnected" | "revoked";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *         "client_name": "paris",
                     *         "address": "paris.example.net",
                     *         "state": "connected",
                     *         "connected": true,
                     *         "remote_addr": "198.51.100.7",
                     *         "connected_at": "2026-01-31T12:00:00.000Z",
                     *         "last_seen_at": "2026-01-31T12:00:00.000Z",
                     *         "agent_version": "2.0.0",
                     *         "capabilities": {
                     *           "rule.sni": "0.9.0"
                     *         },
                     *         "enrolled_at": "2026-01-31T12:00:00.000Z",
                     *         "revoked_at": "2026-01-31T12:00:00.000Z",
                     *         "labels": {
                     *           "env": "prod",
                     *           "example.com/tier": "db"
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Client"][];
                };
            };
            /** @description Bad Request: `invalid_cursor`, `invalid_limit`, `validation.schema`, `validation.selector`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidCursorError"] | components["schemas"]["InvalidLimitError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "client.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "address": "paris.example.net",
                     *       "state": "connected",
                     *       "connected": true,
                     *       "remote_addr": "198.51.100.7",
                     *       "connected_at": "2026-01-31T12:00:00.000Z",
                     *       "last_seen_at": "2026-01-31T12:00:00.000Z",
                     *       "agent_version": "2.0.0",
                     *       "capabilities": {
                     *         "rule.sni": "0.9.0"
                     *       },
                     *       "enrolled_at": "2026-01-31T12:00:00.000Z",
                     *       "revoked_at": "2026-01-31T12:00:00.000Z",
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Client"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "client.update": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "address": "paris.example.net"
                 *     }
                 */
                "application/json": components["schemas"]["ClientUpdateBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "address": "paris.example.net",
                     *       "state": "connected",
                     *       "connected": true,
                     *       "remote_addr": "198.51.100.7",
                     *       "connected_at": "2026-01-31T12:00:00.000Z",
                     *       "last_seen_at": "2026-01-31T12:00:00.000Z",
                     *       "agent_version": "2.0.0",
                     *       "capabilities": {
                     *         "rule.sni": "0.9.0"
                     *       },
                     *       "enrolled_at": "2026-01-31T12:00:00.000Z",
                     *       "revoked_at": "2026-01-31T12:00:00.000Z",
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Client"];
                };
            };
            /** @description Bad Request: `invalid_client_address`, `invalid_json`, `validation.idempotency_key`, `validation.labels`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidClientAddressError"] | components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "client.delete": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `client_not_revoked`, `idempotency_in_progress`, `idempotency_secret_spent`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotRevokedError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "client.change": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "client_name": "paris",
                 *       "address": "paris.example.net",
                 *       "labels": {
                 *         "env": "prod",
                 *         "example.com/tier": "db"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["ClientChangeBody"];
                /**
                 * @example {
                 *       "client_name": "paris",
                 *       "address": "paris.example.net",
                 *       "labels": {
                 *         "env": "prod",
                 *         "example.com/tier": "db"
                 *       }
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["ClientChangeBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "address": "paris.example.net",
                     *       "state": "connected",
                     *       "connected": true,
                     *       "remote_addr": "198.51.100.7",
                     *       "connected_at": "2026-01-31T12:00:00.000Z",
                     *       "last_seen_at": "2026-01-31T12:00:00.000Z",
                     *       "agent_version": "2.0.0",
                     *       "capabilities": {
                     *         "rule.sni": "0.9.0"
                     *       },
                     *       "enrolled_at": "2026-01-31T12:00:00.000Z",
                     *       "revoked_at": "2026-01-31T12:00:00.000Z",
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Client"];
                };
            };
            /** @description Bad Request: `invalid_client_address`, `invalid_client_name`, `invalid_json`, `validation.idempotency_key`, `validation.labels`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidClientAddressError"] | components["schemas"]["InvalidClientNameError"] | components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "enrollment.renew": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "ttl_secs": 600
                 *     }
                 */
                "application/json": components["schemas"]["EnrollmentRenewBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "enrollment_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NE",
                     *       "client_name": "paris",
                     *       "expires_at": "2026-01-31T12:00:00.000Z",
                     *       "command": "sluice agent enroll 'svc://sluice.example.com:7443/enroll?pin=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef&code=EXAMPLE-of-a-one-time-code-of-43-characters'",
                     *       "uri": "svc://sluice.example.com:7443/enroll?pin=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef&code=EXAMPLE-of-a-one-time-code-of-43-characters"
                     *     }
                     */
                    "application/json": components["schemas"]["Invitation"];
                };
            };
            /** @description Bad Request: `invalid_enrollment_ttl`, `invalid_json`, `validation.idempotency_key`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidEnrollmentTtlError"] | components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `endpoint_invalid`, `endpoint_not_in_cert_san`, `idempotency_key_reused`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointInvalidError"] | components["schemas"]["EndpointNotInCertSanError"] | components["schemas"]["IdempotencyKeyReusedError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "client.rename": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "client_name": "paris"
                 *     }
                 */
                "application/json": components["schemas"]["ClientRenameBody"];
                /**
                 * @example {
                 *       "client_name": "paris"
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["ClientRenameBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "address": "paris.example.net",
                     *       "state": "connected",
                     *       "connected": true,
                     *       "remote_addr": "198.51.100.7",
                     *       "connected_at": "2026-01-31T12:00:00.000Z",
                     *       "last_seen_at": "2026-01-31T12:00:00.000Z",
                     *       "agent_version": "2.0.0",
                     *       "capabilities": {
                     *         "rule.sni": "0.9.0"
                     *       },
                     *       "enrolled_at": "2026-01-31T12:00:00.000Z",
                     *       "revoked_at": "2026-01-31T12:00:00.000Z",
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Client"];
                };
            };
            /** @description Bad Request: `invalid_client_name`, `invalid_json`, `validation.idempotency_key`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidClientNameError"] | components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "owner_rate_limit.owners": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Only rows with this value. */
                has_rate_limit?: boolean;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "owner_id" | "-owner_id" | "rule_count" | "-rule_count" | "has_rate_limit" | "-has_rate_limit";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "owner_id": "ann",
                     *         "rule_count": 3,
                     *         "has_rate_limit": true
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Owner"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "owner_rate_limit.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
                /**
                 * @description user_id of the owner of rules.
                 * @example ann
                 */
                owner_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "owner_id": "ann",
                     *       "rate_limit": {
                     *         "bandwidth_out_bps": 50000000,
                     *         "concurrent_connections": 100
                     *       },
                     *       "enforced": true,
                     *       "updated_at": "2026-01-31T12:00:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["OwnerRateLimit"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            /** @description Not Found: `client_not_found`, `owner_rate_limit_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["OwnerRateLimitNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "owner_rate_limit.set": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
                /**
                 * @description user_id of the owner of rules.
                 * @example ann
                 */
                owner_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "bandwidth_out_bps": 100000000,
                 *       "concurrent_connections": 500
                 *     }
                 */
                "application/json": components["schemas"]["OwnerRateLimitSetBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "owner_id": "ann",
                     *       "rate_limit": {
                     *         "bandwidth_out_bps": 50000000,
                     *         "concurrent_connections": 100
                     *       },
                     *       "enforced": true,
                     *       "updated_at": "2026-01-31T12:00:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["OwnerRateLimit"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.idempotency_key`, `validation.rate_limit_burst_without_rate`, `validation.rate_limit_empty`, `validation.rate_limit_range`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationRateLimitBurstWithoutRateError"] | components["schemas"]["ValidationRateLimitEmptyError"] | components["schemas"]["ValidationRateLimitRangeError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            /** @description Not Found: `client_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `rate_limit_unsupported_by_client`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["RateLimitUnsupportedByClientError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "owner_rate_limit.delete": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
                /**
                 * @description user_id of the owner of rules.
                 * @example ann
                 */
                owner_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            /** @description Not Found: `client_not_found`, `owner_rate_limit_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["OwnerRateLimitNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "quota.list-client": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Only rows with this value. */
                enforced?: boolean;
                /** @description Only rows with this value. */
                exhausted?: boolean;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "user_id" | "-user_id" | "client_id" | "-client_id" | "client_name" | "-client_name" | "monthly_bytes" | "-monthly_bytes" | "billing_anchor" | "-billing_anchor" | "bytes_used" | "-bytes_used" | "bytes_remaining" | "-bytes_remaining" | "period_start" | "-period_start" | "period_end" | "-period_end" | "exhausted" | "-exhausted" | "exhausted_at" | "-exhausted_at" | "enforced" | "-enforced" | "created_at" | "-created_at" | "updated_at" | "-updated_at";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "user_id": "ann",
                     *         "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *         "client_name": "paris",
                     *         "monthly_bytes": 500000000000,
                     *         "billing_anchor": 1767225600,
                     *         "bytes_used": 120000000000,
                     *         "bytes_remaining": 380000000000,
                     *         "period_start": 1767225600,
                     *         "period_end": 1769904000,
                     *         "exhausted": false,
                     *         "exhausted_at": null,
                     *         "enforced": true,
                     *         "created_at": 1767225600,
                     *         "updated_at": 1767225600
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Quota"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "client.revoke": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "traffic.of-client": {
        parameters: {
            query: {
                /** @description Default: 1m for at most 24 h that begin within the last 7 days, else 1h. */
                bucket?: "1m" | "1h";
                /**
                 * @description First second, Unix time.
                 * @example 1767225600
                 */
                from: number;
                /**
                 * @description The second after the last, Unix time.
                 * @example 1767229200
                 */
                to: number;
                /**
                 * @description Only of this user.
                 * @example ann
                 */
                user_id?: string;
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "bucket": "1m",
                     *       "samples": [
                     *         {
                     *           "ts": 1767225600,
                     *           "bytes_in": 1200,
                     *           "bytes_out": 56000
                     *         }
                     *       ],
                     *       "total_bytes_in": 1200,
                     *       "total_bytes_out": 56000
                     *     }
                     */
                    "application/json": components["schemas"]["Traffic"];
                };
            };
            /** @description Bad Request: `invalid_bucket`, `invalid_time_range`, `validation.schema`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidBucketError"] | components["schemas"]["InvalidTimeRangeError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            /** @description Not Found: `client_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["QuotaBucketOutOfRetention"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "under_attack.on": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "for_secs": 7200,
                 *       "reason": "flood since noon"
                 *     }
                 */
                "application/json": components["schemas"]["UnderAttackOnBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "client_id": "text",
                     *       "client_name": "text",
                     *       "reason": "text",
                     *       "made_by": "root",
                     *       "from": "2026-01-31T12:00:00.000Z",
                     *       "until": "2026-01-31T12:00:00.000Z",
                     *       "connections": 20,
                     *       "new_connections": 20,
                     *       "within_secs": 10
                     *     }
                     */
                    "application/json": components["schemas"]["UnderAttack"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `under_attack_unsupported_by_client`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["UnderAttackUnsupportedByClientError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "under_attack.off": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "connection.list": {
        parameters: {
            query?: {
                /**
                 * @description client_id, or the name of one client.
                 * @example paris
                 */
                client?: string;
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /** @description user_id: only of rules of this user. */
                owner?: string;
                /** @description Only connections, or only flows. */
                protocol?: "tcp" | "udp";
                /** @description Only of this rule. */
                rule_id?: string;
                /** @description What is largest first; default age. rate: bytes a second since it was opened. */
                sort?: "age" | "bytes" | "rate" | "idle";
                /**
                 * @description Only callers in this CIDR.
                 * @example 198.51.100.0/24
                 */
                source?: string;
                /**
                 * @description Only to this address, or address:port.
                 * @example 10.0.0.7:80
                 */
                target?: string;
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "connection_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA-01KCD3F0P7Q4Y6Z8V1T5S9R2NX-2s",
                     *         "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *         "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *         "owner": "ann",
                     *         "protocol": "tcp",
                     *         "source": "198.51.100.7:52011",
                     *         "listen": "203.0.113.1:443",
                     *         "target": "10.0.0.7:443",
                     *         "opened_at": "2026-01-31T12:00:00.000Z",
                     *         "bytes_in": 1200,
                     *         "bytes_out": 1200,
                     *         "idle_secs": 0.4,
                     *         "rtt_ms": {
                     *           "caller": 12.5,
                     *           "target": 12.5
                     *         },
                     *         "retransmits": {
                     *           "caller": 0,
                     *           "target": 0
                     *         },
                     *         "held_by": "quota ann"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Connection"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "connection.close-all": {
        parameters: {
            query?: {
                /**
                 * @description client_id, or the name of one client.
                 * @example paris
                 */
                client?: string;
                /** @description Counts, and closes nothing. */
                dry_run?: boolean;
                /** @description user_id: only of rules of this user. */
                owner?: string;
                /** @description Only connections, or only flows. */
                protocol?: "tcp" | "udp";
                /** @description Only of this rule. */
                rule_id?: string;
                /**
                 * @description Only callers in this CIDR.
                 * @example 198.51.100.0/24
                 */
                source?: string;
                /**
                 * @description Only to this address, or address:port.
                 * @example 10.0.0.7:80
                 */
                target?: string;
            };
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "matched": 12,
                     *       "closed": 12
                     *     }
                     */
                    "application/json": components["schemas"]["ConnectionsClosed"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.connection_filter`, `validation.idempotency_key`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationConnectionFilterError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
            504: components["responses"]["AckTimeout"];
        };
    };
    "connection.close": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description As a list has it.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA-01KCD3F0P7Q4Y6Z8V1T5S9R2NX-2s
                 */
                connection_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["ConnectionNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
            504: components["responses"]["AckTimeout"];
        };
    };
    "connection.stream": {
        parameters: {
            query?: {
                /**
                 * @description client_id, or the name of one client.
                 * @example paris
                 */
                client?: string;
                /** @description How many rows an event has at most: the first by `sort`. */
                limit?: number;
                /** @description user_id: only of rules of this user. */
                owner?: string;
                /** @description Only connections, or only flows. */
                protocol?: "tcp" | "udp";
                /** @description Only of this rule. */
                rule_id?: string;
                /** @description What is largest first; default age. rate: bytes a second since it was opened. */
                sort?: "age" | "bytes" | "rate" | "idle";
                /**
                 * @description Only callers in this CIDR.
                 * @example 198.51.100.0/24
                 */
                source?: string;
                /**
                 * @description Only to this address, or address:port.
                 * @example 10.0.0.7:80
                 */
                target?: string;
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "event": "text",
                     *       "data": {
                     *         "at": "2026-01-31T12:00:00.000Z",
                     *         "matched": 12,
                     *         "bytes_in": 1200,
                     *         "bytes_out": 1200,
                     *         "clients_answered": 3,
                     *         "clients_silent": 0,
                     *         "clients": [
                     *           {
                     *             "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *             "client_name": "paris",
                     *             "state": "answered",
                     *             "matched": 12
                     *           }
                     *         ],
                     *         "connections": [
                     *           {
                     *             "connection_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA-01KCD3F0P7Q4Y6Z8V1T5S9R2NX-2s",
                     *             "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *             "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *             "owner": "ann",
                     *             "protocol": "tcp",
                     *             "source": "198.51.100.7:52011",
                     *             "listen": "203.0.113.1:443",
                     *             "target": "10.0.0.7:443",
                     *             "opened_at": "2026-01-31T12:00:00.000Z",
                     *             "bytes_in": 1200,
                     *             "bytes_out": 1200,
                     *             "idle_secs": 0.4,
                     *             "rtt_ms": {
                     *               "caller": 12.5,
                     *               "target": 12.5
                     *             },
                     *             "retransmits": {
                     *               "caller": 0,
                     *               "target": 0
                     *             },
                     *             "held_by": "quota ann"
                     *           }
                     *         ]
                     *       }
                     *     }
                     */
                    "text/event-stream": {
                        data: components["schemas"]["LiveConnections"];
                        event: string;
                    };
                };
            };
            /** @description Bad Request: `validation.schema`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "console.module": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description The last part of `module` of a listed page or card.
                 * @example acme-idle-9f86d081884c7d65.js
                 */
                file: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example customElements.define('acme-idle-page', AcmeIdlePage) */
                    "*/*": unknown;
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            404: components["responses"]["NotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "console.parts": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /**
                 * @description Only rows with this value.
                 * @example page
                 */
                on?: "page" | "overview" | "rule" | "client";
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "plugin" | "-plugin" | "on" | "-on" | "name" | "-name" | "icon" | "-icon" | "element" | "-element" | "module" | "-module";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "plugin": "acme-idle",
                     *         "on": "page",
                     *         "name": "idle-connections",
                     *         "icon": "M4 12h16",
                     *         "title": {
                     *           "en": "Idle connections",
                     *           "de": "Ruhende Verbindungen"
                     *         },
                     *         "element": "acme-idle-page",
                     *         "module": "/v1/console/modules/acme-idle-9f86d081884c7d65.js"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["ConsolePart"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "rule.explain": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "client": "paris",
                 *       "port": 443,
                 *       "protocol": "tcp",
                 *       "source": "198.51.100.7",
                 *       "sni": "shop.example"
                 *     }
                 */
                "application/json": components["schemas"]["RuleExplainBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "outcome": "forwarded",
                     *       "decided_by": {
                     *         "kind": "target",
                     *         "id": "10.0.0.7:80",
                     *         "reason": "connect_refused"
                     *       },
                     *       "steps": [
                     *         {
                     *           "kind": "rule",
                     *           "id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *           "verdict": "pass",
                     *           "reason": "connect_refused",
                     *           "text": "10.0.0.7:80 refuses connections"
                     *         }
                     *       ],
                     *       "targets": [
                     *         {
                     *           "host": "10.0.0.7",
                     *           "port": 80,
                     *           "priority": 0,
                     *           "address": "10.0.0.7",
                     *           "dns_ms": 0.4,
                     *           "dns_age_ms": 12.5,
                     *           "connect_ms": 1.2,
                     *           "tls_name": "shop.example",
                     *           "first_byte_ms": 12.5,
                     *           "error": "connect_refused"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `client_not_granted`, `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `password_change_required`, `role_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotGrantedError"] | components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["RoleRequiredError"];
                };
            };
            404: components["responses"]["ClientNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `client_name_ambiguous`, `idempotency_in_progress`, `idempotency_secret_spent`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNameAmbiguousError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "grant.list": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /**
                 * @description Labels of the rows, in the syntax of Kubernetes: env=prod,tier!=db,!old,zone in (a,b). `!=` and `notin` also match rows without the label.
                 * @example env=prod,tier!=db
                 */
                selector?: string;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "grant_id" | "-grant_id" | "user_id" | "-user_id" | "client_id" | "-client_id" | "client_name" | "-client_name" | "listen_port_start" | "-listen_port_start" | "listen_port_end" | "-listen_port_end" | "note" | "-note" | "created_at" | "-created_at";
                /**
                 * @description Only grants of this user.
                 * @example ann
                 */
                user_id?: string;
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "grant_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NG",
                     *         "user_id": "ann",
                     *         "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *         "client_name": "paris",
                     *         "listen_port_start": 8000,
                     *         "listen_port_end": 8999,
                     *         "protocols": [
                     *           "tcp"
                     *         ],
                     *         "targets": [
                     *           "10.0.0.0/8"
                     *         ],
                     *         "note": "ticket 4711",
                     *         "created_at": "2026-01-31T12:00:00.000Z",
                     *         "labels": {
                     *           "env": "prod",
                     *           "example.com/tier": "db"
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Grant"][];
                };
            };
            /** @description Bad Request: `invalid_cursor`, `invalid_limit`, `validation.schema`, `validation.selector`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidCursorError"] | components["schemas"]["InvalidLimitError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "grant.create": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user_id": "ann",
                 *       "client": "paris",
                 *       "listen_port_start": 8000,
                 *       "listen_port_end": 8999,
                 *       "protocols": [
                 *         "tcp"
                 *       ],
                 *       "targets": [
                 *         "10.0.0.0/8"
                 *       ],
                 *       "labels": {
                 *         "env": "prod",
                 *         "example.com/tier": "db"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["GrantCreateBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "grant_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NG",
                     *       "user_id": "ann",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "listen_port_start": 8000,
                     *       "listen_port_end": 8999,
                     *       "protocols": [
                     *         "tcp"
                     *       ],
                     *       "targets": [
                     *         "10.0.0.0/8"
                     *       ],
                     *       "note": "ticket 4711",
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Grant"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.grant_target`, `validation.idempotency_key`, `validation.labels`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationGrantTargetError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            /** @description Not Found: `client_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `client_name_ambiguous`, `grant_already_exists`, `idempotency_in_progress`, `idempotency_secret_spent`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNameAmbiguousError"] | components["schemas"]["GrantAlreadyExistsError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `empty_protocol_set`, `idempotency_key_reused`, `invalid_port_range`, `limit_reached`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmptyProtocolSetError"] | components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["InvalidPortRangeError"] | components["schemas"]["LimitReachedError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "grant.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NG
                 */
                grant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "grant_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NG",
                     *       "user_id": "ann",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "listen_port_start": 8000,
                     *       "listen_port_end": 8999,
                     *       "protocols": [
                     *         "tcp"
                     *       ],
                     *       "targets": [
                     *         "10.0.0.0/8"
                     *       ],
                     *       "note": "ticket 4711",
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Grant"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["GrantNotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "grant.delete": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NG
                 */
                grant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "grant_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NG",
                     *       "removed_rule_ids": [
                     *         "01KCD3F0P7Q4Y6Z8V1T5S9R2NB"
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["GrantDeleteReply"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["GrantNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "grant.change": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NG
                 */
                grant_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "labels": {
                 *         "env": "prod",
                 *         "example.com/tier": "db"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["GrantChangeBody"];
                /**
                 * @example {
                 *       "labels": {
                 *         "env": "prod",
                 *         "example.com/tier": "db"
                 *       }
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["GrantChangeBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "grant_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NG",
                     *       "user_id": "ann",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "listen_port_start": 8000,
                     *       "listen_port_end": 8999,
                     *       "protocols": [
                     *         "tcp"
                     *       ],
                     *       "targets": [
                     *         "10.0.0.0/8"
                     *       ],
                     *       "note": "ticket 4711",
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Grant"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.idempotency_key`, `validation.labels`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["GrantNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `grant_already_exists`, `idempotency_in_progress`, `idempotency_secret_spent`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantAlreadyExistsError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "installer.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "version": "2.0.0",
                     *       "script_sha256": "0000000000000000000000000000000000000000000000000000000000000000",
                     *       "machines": [
                     *         "linux-x64",
                     *         "linux-arm64"
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["InstallerReadReply"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            404: components["responses"]["InstallerUnavailable"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "metrics.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Text. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example # TYPE svc_clients_connected gauge */
                    "text/plain": string;
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "openapi.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "openapi": "3.1.1"
                     *     }
                     */
                    "application/json": components["schemas"]["OpenapiReadReply"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["StoreUnavailable"];
        };
    };
    "plugin.list": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /**
                 * @description Only rows with this value.
                 * @example built in
                 */
                from?: "built in" | "external";
                /** @description Only rows with this value. */
                has_agent?: boolean;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "name" | "-name" | "version" | "-version" | "description" | "-description" | "from" | "-from" | "kernel" | "-kernel" | "has_agent" | "-has_agent";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "name": "quota",
                     *         "version": "1.0.0",
                     *         "description": "text",
                     *         "from": "built in",
                     *         "kernel": "^2.0.0",
                     *         "needs": {
                     *           "http": "^1.0.0"
                     *         },
                     *         "routes": [
                     *           "GET /v1/quotas"
                     *         ],
                     *         "commands": [
                     *           "quota list"
                     *         ],
                     *         "tables": [
                     *           "quota"
                     *         ],
                     *         "slots": [
                     *           "quota.level"
                     *         ],
                     *         "fills": [
                     *           "kernel.metrics"
                     *         ],
                     *         "fields": [
                     *           "quota"
                     *         ],
                     *         "capabilities": {
                     *           "http": "^1.0.0"
                     *         },
                     *         "has_agent": true,
                     *         "may": [
                     *           "answer requests",
                     *           "keep tables"
                     *         ],
                     *         "settings": [
                     *           {
                     *             "key": "quota_hold_secs",
                     *             "description": "text",
                     *             "value": 60,
                     *             "hidden": false,
                     *             "is_default": true
                     *           }
                     *         ]
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Plugin"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "quota.list-all": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Only rows with this value. */
                enforced?: boolean;
                /** @description Only rows with this value. */
                exhausted?: boolean;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "user_id" | "-user_id" | "client_id" | "-client_id" | "client_name" | "-client_name" | "monthly_bytes" | "-monthly_bytes" | "billing_anchor" | "-billing_anchor" | "bytes_used" | "-bytes_used" | "bytes_remaining" | "-bytes_remaining" | "period_start" | "-period_start" | "period_end" | "-period_end" | "exhausted" | "-exhausted" | "exhausted_at" | "-exhausted_at" | "enforced" | "-enforced" | "created_at" | "-created_at" | "updated_at" | "-updated_at";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "user_id": "ann",
                     *         "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *         "client_name": "paris",
                     *         "monthly_bytes": 500000000000,
                     *         "billing_anchor": 1767225600,
                     *         "bytes_used": 120000000000,
                     *         "bytes_remaining": 380000000000,
                     *         "period_start": 1767225600,
                     *         "period_end": 1769904000,
                     *         "exhausted": false,
                     *         "exhausted_at": null,
                     *         "enforced": true,
                     *         "created_at": 1767225600,
                     *         "updated_at": 1767225600
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Quota"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "rule.list": {
        parameters: {
            query?: {
                /**
                 * @description Only rows with this value.
                 * @example keep
                 */
                at_end?: "keep" | "drain" | "cut";
                /**
                 * @description Only rows with this value.
                 * @example priority
                 */
                balance?: "priority" | "round_robin" | "weighted" | "least_connections" | "source_hash" | "random_two";
                /**
                 * @description client_id, or a name that several may have.
                 * @example paris
                 */
                client?: string;
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /**
                 * @description user_id of the owner.
                 * @example ann
                 */
                owner?: string;
                /** @description Only rows with this value. */
                paused?: boolean;
                /** @description Only rows with this value. */
                prefer_ipv6?: boolean;
                /**
                 * @description Only rows with this value.
                 * @example tcp
                 */
                protocol?: "tcp" | "udp";
                /**
                 * @description Only rows with this value.
                 * @example first
                 */
                proxy_out_udp?: "first" | "each";
                /**
                 * @description Labels of the rows, in the syntax of Kubernetes: env=prod,tier!=db,!old,zone in (a,b). `!=` and `notin` also match rows without the label.
                 * @example env=prod,tier!=db
                 */
                selector?: string;
                /** @description Only rows with this value. */
                sni_fallback?: boolean;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "rule_id" | "-rule_id" | "client_id" | "-client_id" | "client_name" | "-client_name" | "listen_port" | "-listen_port" | "listen_port_end" | "-listen_port_end" | "protocol" | "-protocol" | "prefer_ipv6" | "-prefer_ipv6" | "owner" | "-owner" | "placed_by" | "-placed_by" | "paused" | "-paused" | "state" | "-state" | "state_reason" | "-state_reason" | "created_at" | "-created_at" | "updated_at" | "-updated_at" | "state_changed_at" | "-state_changed_at" | "etag" | "-etag" | "balance" | "-balance" | "slow_connect_ms" | "-slow_connect_ms" | "slow_start_secs" | "-slow_start_secs" | "source_hash_ipv6_prefix" | "-source_hash_ipv6_prefix" | "health_check_interval_secs" | "-health_check_interval_secs" | "proxy_out" | "-proxy_out" | "proxy_out_udp" | "-proxy_out_udp" | "not_before" | "-not_before" | "expires_at" | "-expires_at" | "at_end" | "-at_end" | "sni_pattern" | "-sni_pattern" | "sni_fallback" | "-sni_fallback";
                /**
                 * @description Only rows with this value.
                 * @example pending
                 */
                state?: "pending" | "active" | "paused" | "failed" | "draining" | "partial" | "expired" | "outside_schedule";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *         "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *         "client_name": "paris",
                     *         "listen_port": 8443,
                     *         "listen_port_end": null,
                     *         "protocol": "tcp",
                     *         "targets": [
                     *           {
                     *             "host": "10.0.0.7",
                     *             "port": 443,
                     *             "port_end": null,
                     *             "priority": 0,
                     *             "weight": 1,
                     *             "health": {
                     *               "state": "healthy",
                     *               "consecutive_failures": 0,
                     *               "last_failure_at": null,
                     *               "last_success_at": "2026-01-31T12:00:00.000Z",
                     *               "ejected_until": null,
                     *               "ejected_reason": null
                     *             }
                     *           }
                     *         ],
                     *         "prefer_ipv6": false,
                     *         "owner": "ann",
                     *         "placed_by": "ann",
                     *         "paused": false,
                     *         "state": "active",
                     *         "state_reason": null,
                     *         "created_at": "2026-01-31T12:00:00.000Z",
                     *         "updated_at": "2026-01-31T12:00:00.000Z",
                     *         "state_changed_at": "2026-01-31T12:00:00.000Z",
                     *         "etag": "\"7\"",
                     *         "edges": [
                     *           {
                     *             "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *             "client_name": "paris",
                     *             "state": "active",
                     *             "state_reason": null
                     *           }
                     *         ],
                     *         "amplification": {
                     *           "ratio": 3,
                     *           "proven_after": 8
                     *         },
                     *         "balance": "round_robin",
                     *         "slow_connect_ms": 100,
                     *         "slow_start_secs": 60,
                     *         "source_hash_ipv6_prefix": 64,
                     *         "ban": {
                     *           "new_connections": 100,
                     *           "failed_handshakes": 5,
                     *           "within_secs": 60,
                     *           "for_secs": 600
                     *         },
                     *         "clients": {
                     *           "selector": "env=prod,tier!=db"
                     *         },
                     *         "labels": {
                     *           "env": "prod",
                     *           "example.com/tier": "db"
                     *         },
                     *         "health_check_interval_secs": 30,
                     *         "proxy_in": [
                     *           "192.0.2.0/24"
                     *         ],
                     *         "proxy_out": 2,
                     *         "proxy_out_udp": "first",
                     *         "rate_limit": {
                     *           "bandwidth_out_bps": 50000000,
                     *           "concurrent_connections": 100
                     *         },
                     *         "not_before": "2099-01-01T00:00:00Z",
                     *         "expires_at": "2099-01-01T00:00:00Z",
                     *         "schedule": {
                     *           "time_zone": "Europe/Paris",
                     *           "windows": [
                     *             {
                     *               "days": [
                     *                 "mon",
                     *                 "fri"
                     *               ],
                     *               "from": "08:00",
                     *               "to": "18:00"
                     *             }
                     *           ]
                     *         },
                     *         "at_end": "drain",
                     *         "sni_pattern": "shop.example.org",
                     *         "sni_fallback": true,
                     *         "allow_sources": [
                     *           "192.0.2.0/24",
                     *           "2001:db8::/32"
                     *         ],
                     *         "deny_sources": [
                     *           "198.51.100.7"
                     *         ],
                     *         "source_limit": {
                     *           "connections": 20,
                     *           "new_connections": 100,
                     *           "within_secs": 10
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Rule"][];
                };
            };
            /** @description Bad Request: `invalid_cursor`, `invalid_limit`, `validation.schema`, `validation.selector`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidCursorError"] | components["schemas"]["InvalidLimitError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "rule.create": {
        parameters: {
            query?: {
                /** @description How long to wait for the client; default 5. */
                ack_timeout_secs?: number;
            };
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "client": "paris",
                 *       "listen_port": 8443,
                 *       "targets": [
                 *         {
                 *           "host": "10.0.0.7",
                 *           "port": 443
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RuleCreate"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "listen_port": 8443,
                     *       "listen_port_end": null,
                     *       "protocol": "tcp",
                     *       "targets": [
                     *         {
                     *           "host": "10.0.0.7",
                     *           "port": 443,
                     *           "port_end": null,
                     *           "priority": 0,
                     *           "weight": 1,
                     *           "health": {
                     *             "state": "healthy",
                     *             "consecutive_failures": 0,
                     *             "last_failure_at": null,
                     *             "last_success_at": "2026-01-31T12:00:00.000Z",
                     *             "ejected_until": null,
                     *             "ejected_reason": null
                     *           }
                     *         }
                     *       ],
                     *       "prefer_ipv6": false,
                     *       "owner": "ann",
                     *       "placed_by": "ann",
                     *       "paused": false,
                     *       "state": "active",
                     *       "state_reason": null,
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "updated_at": "2026-01-31T12:00:00.000Z",
                     *       "state_changed_at": "2026-01-31T12:00:00.000Z",
                     *       "etag": "\"7\"",
                     *       "edges": [
                     *         {
                     *           "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *           "client_name": "paris",
                     *           "state": "active",
                     *           "state_reason": null
                     *         }
                     *       ],
                     *       "amplification": {
                     *         "ratio": 3,
                     *         "proven_after": 8
                     *       },
                     *       "balance": "round_robin",
                     *       "slow_connect_ms": 100,
                     *       "slow_start_secs": 60,
                     *       "source_hash_ipv6_prefix": 64,
                     *       "ban": {
                     *         "new_connections": 100,
                     *         "failed_handshakes": 5,
                     *         "within_secs": 60,
                     *         "for_secs": 600
                     *       },
                     *       "clients": {
                     *         "selector": "env=prod,tier!=db"
                     *       },
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       },
                     *       "health_check_interval_secs": 30,
                     *       "proxy_in": [
                     *         "192.0.2.0/24"
                     *       ],
                     *       "proxy_out": 2,
                     *       "proxy_out_udp": "first",
                     *       "rate_limit": {
                     *         "bandwidth_out_bps": 50000000,
                     *         "concurrent_connections": 100
                     *       },
                     *       "not_before": "2099-01-01T00:00:00Z",
                     *       "expires_at": "2099-01-01T00:00:00Z",
                     *       "schedule": {
                     *         "time_zone": "Europe/Paris",
                     *         "windows": [
                     *           {
                     *             "days": [
                     *               "mon",
                     *               "fri"
                     *             ],
                     *             "from": "08:00",
                     *             "to": "18:00"
                     *           }
                     *         ]
                     *       },
                     *       "at_end": "drain",
                     *       "sni_pattern": "shop.example.org",
                     *       "sni_fallback": true,
                     *       "allow_sources": [
                     *         "192.0.2.0/24",
                     *         "2001:db8::/32"
                     *       ],
                     *       "deny_sources": [
                     *         "198.51.100.7"
                     *       ],
                     *       "source_limit": {
                     *         "connections": 20,
                     *         "new_connections": 100,
                     *         "within_secs": 10
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Rule"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.amplification`, `validation.balance`, `validation.ban`, `validation.clients`, `validation.expires_in_past`, `validation.health_on_udp`, `validation.idempotency_key`, `validation.labels`, `validation.protocol`, `validation.proxy_in`, `validation.proxy_out`, `validation.range_invalid`, `validation.range_too_wide`, `validation.rate_limit_burst_without_rate`, `validation.rate_limit_range`, `validation.schedule`, `validation.schedule_missing`, `validation.schema`, `validation.selector`, `validation.sni_on_unsupported_rule`, `validation.sni_pattern_malformed`, `validation.source_limit`, `validation.sources`, `validation.target_host`, `validation.targets_duplicate`, `validation.targets_empty`, `validation.targets_too_many`, `validation.time_zone`, `validation.unknown_field`, `validation.unknown_parameter`, `validation.weight`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationAmplificationError"] | components["schemas"]["ValidationBalanceError"] | components["schemas"]["ValidationBanError"] | components["schemas"]["ValidationClientsError"] | components["schemas"]["ValidationExpiresInPastError"] | components["schemas"]["ValidationHealthOnUdpError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationProtocolError"] | components["schemas"]["ValidationProxyInError"] | components["schemas"]["ValidationProxyOutError"] | components["schemas"]["ValidationRangeInvalidError"] | components["schemas"]["ValidationRangeTooWideError"] | components["schemas"]["ValidationRateLimitBurstWithoutRateError"] | components["schemas"]["ValidationRateLimitRangeError"] | components["schemas"]["ValidationScheduleError"] | components["schemas"]["ValidationScheduleMissingError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationSniOnUnsupportedRuleError"] | components["schemas"]["ValidationSniPatternMalformedError"] | components["schemas"]["ValidationSourceLimitError"] | components["schemas"]["ValidationSourcesError"] | components["schemas"]["ValidationTargetHostError"] | components["schemas"]["ValidationTargetsDuplicateError"] | components["schemas"]["ValidationTargetsEmptyError"] | components["schemas"]["ValidationTargetsTooManyError"] | components["schemas"]["ValidationTimeZoneError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"] | components["schemas"]["ValidationWeightError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `client_not_granted`, `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `port_outside_grant`, `protocol_not_granted`, `role_required`, `target_not_granted`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotGrantedError"] | components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["PortOutsideGrantError"] | components["schemas"]["ProtocolNotGrantedError"] | components["schemas"]["RoleRequiredError"] | components["schemas"]["TargetNotGrantedError"];
                };
            };
            /** @description Not Found: `client_not_found`, `rule_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["RuleNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `client_name_ambiguous`, `conflict.legacy_to_sni_unsupported`, `conflict.sni_fallback_duplicate`, `conflict.sni_route_duplicate`, `idempotency_in_progress`, `idempotency_secret_spent`, `port_in_use`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNameAmbiguousError"] | components["schemas"]["ConflictLegacyToSniUnsupportedError"] | components["schemas"]["ConflictSniFallbackDuplicateError"] | components["schemas"]["ConflictSniRouteDuplicateError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["PortInUseError"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `activation_failed`, `client_not_connected`, `field_not_loaded`, `idempotency_key_reused`, `limit_reached`, `multi_target_unsupported_by_client`, `quota_unsupported_by_client`, `rate_limit_unsupported_by_client`, `rule_field_unsupported_by_client`, `rule_shape_not_loaded`, `sni_unsupported_by_client`, `target_filter_unsupported_by_client`, `unsupported_protocol`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivationFailedError"] | components["schemas"]["ClientNotConnectedError"] | components["schemas"]["FieldNotLoadedError"] | components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["LimitReachedError"] | components["schemas"]["MultiTargetUnsupportedByClientError"] | components["schemas"]["QuotaUnsupportedByClientError"] | components["schemas"]["RateLimitUnsupportedByClientError"] | components["schemas"]["RuleFieldUnsupportedByClientError"] | components["schemas"]["RuleShapeNotLoadedError"] | components["schemas"]["SniUnsupportedByClientError"] | components["schemas"]["TargetFilterUnsupportedByClientError"] | components["schemas"]["UnsupportedProtocolError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
            504: components["responses"]["AckTimeout"];
        };
    };
    "rule.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "listen_port": 8443,
                     *       "listen_port_end": null,
                     *       "protocol": "tcp",
                     *       "targets": [
                     *         {
                     *           "host": "10.0.0.7",
                     *           "port": 443,
                     *           "port_end": null,
                     *           "priority": 0,
                     *           "weight": 1,
                     *           "health": {
                     *             "state": "healthy",
                     *             "consecutive_failures": 0,
                     *             "last_failure_at": null,
                     *             "last_success_at": "2026-01-31T12:00:00.000Z",
                     *             "ejected_until": null,
                     *             "ejected_reason": null
                     *           }
                     *         }
                     *       ],
                     *       "prefer_ipv6": false,
                     *       "owner": "ann",
                     *       "placed_by": "ann",
                     *       "paused": false,
                     *       "state": "active",
                     *       "state_reason": null,
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "updated_at": "2026-01-31T12:00:00.000Z",
                     *       "state_changed_at": "2026-01-31T12:00:00.000Z",
                     *       "etag": "\"7\"",
                     *       "edges": [
                     *         {
                     *           "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *           "client_name": "paris",
                     *           "state": "active",
                     *           "state_reason": null
                     *         }
                     *       ],
                     *       "amplification": {
                     *         "ratio": 3,
                     *         "proven_after": 8
                     *       },
                     *       "balance": "round_robin",
                     *       "slow_connect_ms": 100,
                     *       "slow_start_secs": 60,
                     *       "source_hash_ipv6_prefix": 64,
                     *       "ban": {
                     *         "new_connections": 100,
                     *         "failed_handshakes": 5,
                     *         "within_secs": 60,
                     *         "for_secs": 600
                     *       },
                     *       "clients": {
                     *         "selector": "env=prod,tier!=db"
                     *       },
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       },
                     *       "health_check_interval_secs": 30,
                     *       "proxy_in": [
                     *         "192.0.2.0/24"
                     *       ],
                     *       "proxy_out": 2,
                     *       "proxy_out_udp": "first",
                     *       "rate_limit": {
                     *         "bandwidth_out_bps": 50000000,
                     *         "concurrent_connections": 100
                     *       },
                     *       "not_before": "2099-01-01T00:00:00Z",
                     *       "expires_at": "2099-01-01T00:00:00Z",
                     *       "schedule": {
                     *         "time_zone": "Europe/Paris",
                     *         "windows": [
                     *           {
                     *             "days": [
                     *               "mon",
                     *               "fri"
                     *             ],
                     *             "from": "08:00",
                     *             "to": "18:00"
                     *           }
                     *         ]
                     *       },
                     *       "at_end": "drain",
                     *       "sni_pattern": "shop.example.org",
                     *       "sni_fallback": true,
                     *       "allow_sources": [
                     *         "192.0.2.0/24",
                     *         "2001:db8::/32"
                     *       ],
                     *       "deny_sources": [
                     *         "198.51.100.7"
                     *       ],
                     *       "source_limit": {
                     *         "connections": 20,
                     *         "new_connections": 100,
                     *         "within_secs": 10
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Rule"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            404: components["responses"]["RuleNotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "rule.update": {
        parameters: {
            query?: {
                /** @description How long to wait for the client; default 5. */
                ack_timeout_secs?: number;
            };
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "client": "paris",
                 *       "listen_port": 8443,
                 *       "targets": [
                 *         {
                 *           "host": "10.0.0.7",
                 *           "port": 443
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RuleUpdate"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "listen_port": 8443,
                     *       "listen_port_end": null,
                     *       "protocol": "tcp",
                     *       "targets": [
                     *         {
                     *           "host": "10.0.0.7",
                     *           "port": 443,
                     *           "port_end": null,
                     *           "priority": 0,
                     *           "weight": 1,
                     *           "health": {
                     *             "state": "healthy",
                     *             "consecutive_failures": 0,
                     *             "last_failure_at": null,
                     *             "last_success_at": "2026-01-31T12:00:00.000Z",
                     *             "ejected_until": null,
                     *             "ejected_reason": null
                     *           }
                     *         }
                     *       ],
                     *       "prefer_ipv6": false,
                     *       "owner": "ann",
                     *       "placed_by": "ann",
                     *       "paused": false,
                     *       "state": "active",
                     *       "state_reason": null,
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "updated_at": "2026-01-31T12:00:00.000Z",
                     *       "state_changed_at": "2026-01-31T12:00:00.000Z",
                     *       "etag": "\"7\"",
                     *       "edges": [
                     *         {
                     *           "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *           "client_name": "paris",
                     *           "state": "active",
                     *           "state_reason": null
                     *         }
                     *       ],
                     *       "amplification": {
                     *         "ratio": 3,
                     *         "proven_after": 8
                     *       },
                     *       "balance": "round_robin",
                     *       "slow_connect_ms": 100,
                     *       "slow_start_secs": 60,
                     *       "source_hash_ipv6_prefix": 64,
                     *       "ban": {
                     *         "new_connections": 100,
                     *         "failed_handshakes": 5,
                     *         "within_secs": 60,
                     *         "for_secs": 600
                     *       },
                     *       "clients": {
                     *         "selector": "env=prod,tier!=db"
                     *       },
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       },
                     *       "health_check_interval_secs": 30,
                     *       "proxy_in": [
                     *         "192.0.2.0/24"
                     *       ],
                     *       "proxy_out": 2,
                     *       "proxy_out_udp": "first",
                     *       "rate_limit": {
                     *         "bandwidth_out_bps": 50000000,
                     *         "concurrent_connections": 100
                     *       },
                     *       "not_before": "2099-01-01T00:00:00Z",
                     *       "expires_at": "2099-01-01T00:00:00Z",
                     *       "schedule": {
                     *         "time_zone": "Europe/Paris",
                     *         "windows": [
                     *           {
                     *             "days": [
                     *               "mon",
                     *               "fri"
                     *             ],
                     *             "from": "08:00",
                     *             "to": "18:00"
                     *           }
                     *         ]
                     *       },
                     *       "at_end": "drain",
                     *       "sni_pattern": "shop.example.org",
                     *       "sni_fallback": true,
                     *       "allow_sources": [
                     *         "192.0.2.0/24",
                     *         "2001:db8::/32"
                     *       ],
                     *       "deny_sources": [
                     *         "198.51.100.7"
                     *       ],
                     *       "source_limit": {
                     *         "connections": 20,
                     *         "new_connections": 100,
                     *         "within_secs": 10
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Rule"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.amplification`, `validation.balance`, `validation.ban`, `validation.body_empty`, `validation.clients`, `validation.expires_in_past`, `validation.health_on_udp`, `validation.idempotency_key`, `validation.labels`, `validation.labels_missing`, `validation.protocol`, `validation.proxy_in`, `validation.proxy_out`, `validation.range_invalid`, `validation.range_too_wide`, `validation.rate_limit_burst_without_rate`, `validation.rate_limit_missing`, `validation.rate_limit_range`, `validation.rule_immutable_field`, `validation.schedule`, `validation.schedule_missing`, `validation.schema`, `validation.selector`, `validation.sni_on_unsupported_rule`, `validation.sni_pattern_malformed`, `validation.source_limit`, `validation.sources`, `validation.target_host`, `validation.targets_duplicate`, `validation.targets_empty`, `validation.targets_too_many`, `validation.time_zone`, `validation.unknown_field`, `validation.unknown_parameter`, `validation.weight`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationAmplificationError"] | components["schemas"]["ValidationBalanceError"] | components["schemas"]["ValidationBanError"] | components["schemas"]["ValidationBodyEmptyError"] | components["schemas"]["ValidationClientsError"] | components["schemas"]["ValidationExpiresInPastError"] | components["schemas"]["ValidationHealthOnUdpError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationLabelsMissingError"] | components["schemas"]["ValidationProtocolError"] | components["schemas"]["ValidationProxyInError"] | components["schemas"]["ValidationProxyOutError"] | components["schemas"]["ValidationRangeInvalidError"] | components["schemas"]["ValidationRangeTooWideError"] | components["schemas"]["ValidationRateLimitBurstWithoutRateError"] | components["schemas"]["ValidationRateLimitMissingError"] | components["schemas"]["ValidationRateLimitRangeError"] | components["schemas"]["ValidationRuleImmutableFieldError"] | components["schemas"]["ValidationScheduleError"] | components["schemas"]["ValidationScheduleMissingError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationSniOnUnsupportedRuleError"] | components["schemas"]["ValidationSniPatternMalformedError"] | components["schemas"]["ValidationSourceLimitError"] | components["schemas"]["ValidationSourcesError"] | components["schemas"]["ValidationTargetHostError"] | components["schemas"]["ValidationTargetsDuplicateError"] | components["schemas"]["ValidationTargetsEmptyError"] | components["schemas"]["ValidationTargetsTooManyError"] | components["schemas"]["ValidationTimeZoneError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"] | components["schemas"]["ValidationWeightError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `client_not_granted`, `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `port_outside_grant`, `protocol_not_granted`, `role_required`, `target_not_granted`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotGrantedError"] | components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["PortOutsideGrantError"] | components["schemas"]["ProtocolNotGrantedError"] | components["schemas"]["RoleRequiredError"] | components["schemas"]["TargetNotGrantedError"];
                };
            };
            /** @description Not Found: `client_not_found`, `rule_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["RuleNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `client_name_ambiguous`, `conflict.legacy_to_sni_unsupported`, `conflict.sni_fallback_duplicate`, `conflict.sni_route_duplicate`, `idempotency_in_progress`, `idempotency_secret_spent`, `port_in_use`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNameAmbiguousError"] | components["schemas"]["ConflictLegacyToSniUnsupportedError"] | components["schemas"]["ConflictSniFallbackDuplicateError"] | components["schemas"]["ConflictSniRouteDuplicateError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["PortInUseError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `activation_failed`, `client_not_connected`, `field_not_loaded`, `idempotency_key_reused`, `limit_reached`, `multi_target_unsupported_by_client`, `quota_unsupported_by_client`, `rate_limit_unsupported_by_client`, `rule_field_unsupported_by_client`, `rule_shape_not_loaded`, `sni_unsupported_by_client`, `target_filter_unsupported_by_client`, `unsupported_protocol`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivationFailedError"] | components["schemas"]["ClientNotConnectedError"] | components["schemas"]["FieldNotLoadedError"] | components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["LimitReachedError"] | components["schemas"]["MultiTargetUnsupportedByClientError"] | components["schemas"]["QuotaUnsupportedByClientError"] | components["schemas"]["RateLimitUnsupportedByClientError"] | components["schemas"]["RuleFieldUnsupportedByClientError"] | components["schemas"]["RuleShapeNotLoadedError"] | components["schemas"]["SniUnsupportedByClientError"] | components["schemas"]["TargetFilterUnsupportedByClientError"] | components["schemas"]["UnsupportedProtocolError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
            504: components["responses"]["AckTimeout"];
        };
    };
    "rule.delete": {
        parameters: {
            query?: {
                /** @description How long to wait for the client; default 5. */
                ack_timeout_secs?: number;
            };
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `role_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["RoleRequiredError"];
                };
            };
            404: components["responses"]["RuleNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `idempotency_in_progress`, `idempotency_secret_spent`, `port_in_use`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["PortInUseError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `activation_failed`, `idempotency_key_reused`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivationFailedError"] | components["schemas"]["IdempotencyKeyReusedError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
            504: components["responses"]["AckTimeout"];
        };
    };
    "rule.patch": {
        parameters: {
            query?: {
                /** @description How long to wait for the client; default 5. */
                ack_timeout_secs?: number;
                /** @description What becomes of live connections whose target is no longer in the rule, or whose rule is paused; default keep. */
                existing?: "keep" | "drain" | "cut";
            };
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "targets": [
                 *         {
                 *           "host": "10.0.0.8",
                 *           "port": 443
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RulePatch"];
                /**
                 * @example {
                 *       "targets": [
                 *         {
                 *           "host": "10.0.0.8",
                 *           "port": 443
                 *         }
                 *       ]
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["RulePatch"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "listen_port": 8443,
                     *       "listen_port_end": null,
                     *       "protocol": "tcp",
                     *       "targets": [
                     *         {
                     *           "host": "10.0.0.7",
                     *           "port": 443,
                     *           "port_end": null,
                     *           "priority": 0,
                     *           "weight": 1,
                     *           "health": {
                     *             "state": "healthy",
                     *             "consecutive_failures": 0,
                     *             "last_failure_at": null,
                     *             "last_success_at": "2026-01-31T12:00:00.000Z",
                     *             "ejected_until": null,
                     *             "ejected_reason": null
                     *           }
                     *         }
                     *       ],
                     *       "prefer_ipv6": false,
                     *       "owner": "ann",
                     *       "placed_by": "ann",
                     *       "paused": false,
                     *       "state": "active",
                     *       "state_reason": null,
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "updated_at": "2026-01-31T12:00:00.000Z",
                     *       "state_changed_at": "2026-01-31T12:00:00.000Z",
                     *       "etag": "\"7\"",
                     *       "edges": [
                     *         {
                     *           "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *           "client_name": "paris",
                     *           "state": "active",
                     *           "state_reason": null
                     *         }
                     *       ],
                     *       "amplification": {
                     *         "ratio": 3,
                     *         "proven_after": 8
                     *       },
                     *       "balance": "round_robin",
                     *       "slow_connect_ms": 100,
                     *       "slow_start_secs": 60,
                     *       "source_hash_ipv6_prefix": 64,
                     *       "ban": {
                     *         "new_connections": 100,
                     *         "failed_handshakes": 5,
                     *         "within_secs": 60,
                     *         "for_secs": 600
                     *       },
                     *       "clients": {
                     *         "selector": "env=prod,tier!=db"
                     *       },
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       },
                     *       "health_check_interval_secs": 30,
                     *       "proxy_in": [
                     *         "192.0.2.0/24"
                     *       ],
                     *       "proxy_out": 2,
                     *       "proxy_out_udp": "first",
                     *       "rate_limit": {
                     *         "bandwidth_out_bps": 50000000,
                     *         "concurrent_connections": 100
                     *       },
                     *       "not_before": "2099-01-01T00:00:00Z",
                     *       "expires_at": "2099-01-01T00:00:00Z",
                     *       "schedule": {
                     *         "time_zone": "Europe/Paris",
                     *         "windows": [
                     *           {
                     *             "days": [
                     *               "mon",
                     *               "fri"
                     *             ],
                     *             "from": "08:00",
                     *             "to": "18:00"
                     *           }
                     *         ]
                     *       },
                     *       "at_end": "drain",
                     *       "sni_pattern": "shop.example.org",
                     *       "sni_fallback": true,
                     *       "allow_sources": [
                     *         "192.0.2.0/24",
                     *         "2001:db8::/32"
                     *       ],
                     *       "deny_sources": [
                     *         "198.51.100.7"
                     *       ],
                     *       "source_limit": {
                     *         "connections": 20,
                     *         "new_connections": 100,
                     *         "within_secs": 10
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Rule"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.amplification`, `validation.balance`, `validation.ban`, `validation.body_empty`, `validation.clients`, `validation.expires_in_past`, `validation.health_on_udp`, `validation.idempotency_key`, `validation.labels`, `validation.protocol`, `validation.proxy_in`, `validation.proxy_out`, `validation.range_invalid`, `validation.range_too_wide`, `validation.rate_limit_burst_without_rate`, `validation.rate_limit_range`, `validation.rule_immutable_field`, `validation.schedule`, `validation.schedule_missing`, `validation.schema`, `validation.selector`, `validation.sni_on_unsupported_rule`, `validation.sni_pattern_malformed`, `validation.source_limit`, `validation.sources`, `validation.target_host`, `validation.targets_duplicate`, `validation.targets_empty`, `validation.targets_too_many`, `validation.time_zone`, `validation.unknown_field`, `validation.unknown_parameter`, `validation.weight`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationAmplificationError"] | components["schemas"]["ValidationBalanceError"] | components["schemas"]["ValidationBanError"] | components["schemas"]["ValidationBodyEmptyError"] | components["schemas"]["ValidationClientsError"] | components["schemas"]["ValidationExpiresInPastError"] | components["schemas"]["ValidationHealthOnUdpError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationProtocolError"] | components["schemas"]["ValidationProxyInError"] | components["schemas"]["ValidationProxyOutError"] | components["schemas"]["ValidationRangeInvalidError"] | components["schemas"]["ValidationRangeTooWideError"] | components["schemas"]["ValidationRateLimitBurstWithoutRateError"] | components["schemas"]["ValidationRateLimitRangeError"] | components["schemas"]["ValidationRuleImmutableFieldError"] | components["schemas"]["ValidationScheduleError"] | components["schemas"]["ValidationScheduleMissingError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationSniOnUnsupportedRuleError"] | components["schemas"]["ValidationSniPatternMalformedError"] | components["schemas"]["ValidationSourceLimitError"] | components["schemas"]["ValidationSourcesError"] | components["schemas"]["ValidationTargetHostError"] | components["schemas"]["ValidationTargetsDuplicateError"] | components["schemas"]["ValidationTargetsEmptyError"] | components["schemas"]["ValidationTargetsTooManyError"] | components["schemas"]["ValidationTimeZoneError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"] | components["schemas"]["ValidationWeightError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `client_not_granted`, `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `port_outside_grant`, `protocol_not_granted`, `role_required`, `target_not_granted`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotGrantedError"] | components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["PortOutsideGrantError"] | components["schemas"]["ProtocolNotGrantedError"] | components["schemas"]["RoleRequiredError"] | components["schemas"]["TargetNotGrantedError"];
                };
            };
            /** @description Not Found: `client_not_found`, `rule_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["RuleNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `client_name_ambiguous`, `conflict.legacy_to_sni_unsupported`, `conflict.sni_fallback_duplicate`, `conflict.sni_route_duplicate`, `idempotency_in_progress`, `idempotency_secret_spent`, `port_in_use`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNameAmbiguousError"] | components["schemas"]["ConflictLegacyToSniUnsupportedError"] | components["schemas"]["ConflictSniFallbackDuplicateError"] | components["schemas"]["ConflictSniRouteDuplicateError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["PortInUseError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `activation_failed`, `client_not_connected`, `field_not_loaded`, `idempotency_key_reused`, `limit_reached`, `multi_target_unsupported_by_client`, `quota_unsupported_by_client`, `rate_limit_unsupported_by_client`, `rule_field_unsupported_by_client`, `rule_shape_not_loaded`, `sni_unsupported_by_client`, `target_filter_unsupported_by_client`, `unsupported_protocol`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivationFailedError"] | components["schemas"]["ClientNotConnectedError"] | components["schemas"]["FieldNotLoadedError"] | components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["LimitReachedError"] | components["schemas"]["MultiTargetUnsupportedByClientError"] | components["schemas"]["QuotaUnsupportedByClientError"] | components["schemas"]["RateLimitUnsupportedByClientError"] | components["schemas"]["RuleFieldUnsupportedByClientError"] | components["schemas"]["RuleShapeNotLoadedError"] | components["schemas"]["SniUnsupportedByClientError"] | components["schemas"]["TargetFilterUnsupportedByClientError"] | components["schemas"]["UnsupportedProtocolError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
            504: components["responses"]["AckTimeout"];
        };
    };
    "rule.replace": {
        parameters: {
            query?: {
                /** @description How long to wait for the client; default 5. */
                ack_timeout_secs?: number;
            };
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "client": "paris",
                 *       "listen_port": 8443,
                 *       "targets": [
                 *         {
                 *           "host": "10.0.0.7",
                 *           "port": 443
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["RuleDefinition"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "listen_port": 8443,
                     *       "listen_port_end": null,
                     *       "protocol": "tcp",
                     *       "targets": [
                     *         {
                     *           "host": "10.0.0.7",
                     *           "port": 443,
                     *           "port_end": null,
                     *           "priority": 0,
                     *           "weight": 1,
                     *           "health": {
                     *             "state": "healthy",
                     *             "consecutive_failures": 0,
                     *             "last_failure_at": null,
                     *             "last_success_at": "2026-01-31T12:00:00.000Z",
                     *             "ejected_until": null,
                     *             "ejected_reason": null
                     *           }
                     *         }
                     *       ],
                     *       "prefer_ipv6": false,
                     *       "owner": "ann",
                     *       "placed_by": "ann",
                     *       "paused": false,
                     *       "state": "active",
                     *       "state_reason": null,
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "updated_at": "2026-01-31T12:00:00.000Z",
                     *       "state_changed_at": "2026-01-31T12:00:00.000Z",
                     *       "etag": "\"7\"",
                     *       "edges": [
                     *         {
                     *           "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *           "client_name": "paris",
                     *           "state": "active",
                     *           "state_reason": null
                     *         }
                     *       ],
                     *       "amplification": {
                     *         "ratio": 3,
                     *         "proven_after": 8
                     *       },
                     *       "balance": "round_robin",
                     *       "slow_connect_ms": 100,
                     *       "slow_start_secs": 60,
                     *       "source_hash_ipv6_prefix": 64,
                     *       "ban": {
                     *         "new_connections": 100,
                     *         "failed_handshakes": 5,
                     *         "within_secs": 60,
                     *         "for_secs": 600
                     *       },
                     *       "clients": {
                     *         "selector": "env=prod,tier!=db"
                     *       },
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       },
                     *       "health_check_interval_secs": 30,
                     *       "proxy_in": [
                     *         "192.0.2.0/24"
                     *       ],
                     *       "proxy_out": 2,
                     *       "proxy_out_udp": "first",
                     *       "rate_limit": {
                     *         "bandwidth_out_bps": 50000000,
                     *         "concurrent_connections": 100
                     *       },
                     *       "not_before": "2099-01-01T00:00:00Z",
                     *       "expires_at": "2099-01-01T00:00:00Z",
                     *       "schedule": {
                     *         "time_zone": "Europe/Paris",
                     *         "windows": [
                     *           {
                     *             "days": [
                     *               "mon",
                     *               "fri"
                     *             ],
                     *             "from": "08:00",
                     *             "to": "18:00"
                     *           }
                     *         ]
                     *       },
                     *       "at_end": "drain",
                     *       "sni_pattern": "shop.example.org",
                     *       "sni_fallback": true,
                     *       "allow_sources": [
                     *         "192.0.2.0/24",
                     *         "2001:db8::/32"
                     *       ],
                     *       "deny_sources": [
                     *         "198.51.100.7"
                     *       ],
                     *       "source_limit": {
                     *         "connections": 20,
                     *         "new_connections": 100,
                     *         "within_secs": 10
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Rule"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.amplification`, `validation.balance`, `validation.ban`, `validation.clients`, `validation.expires_in_past`, `validation.health_on_udp`, `validation.idempotency_key`, `validation.labels`, `validation.protocol`, `validation.proxy_in`, `validation.proxy_out`, `validation.range_invalid`, `validation.range_too_wide`, `validation.rate_limit_burst_without_rate`, `validation.rate_limit_range`, `validation.rule_immutable_field`, `validation.schedule`, `validation.schedule_missing`, `validation.schema`, `validation.selector`, `validation.sni_on_unsupported_rule`, `validation.sni_pattern_malformed`, `validation.source_limit`, `validation.sources`, `validation.target_host`, `validation.targets_duplicate`, `validation.targets_empty`, `validation.targets_too_many`, `validation.time_zone`, `validation.unknown_field`, `validation.unknown_parameter`, `validation.weight`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationAmplificationError"] | components["schemas"]["ValidationBalanceError"] | components["schemas"]["ValidationBanError"] | components["schemas"]["ValidationClientsError"] | components["schemas"]["ValidationExpiresInPastError"] | components["schemas"]["ValidationHealthOnUdpError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationProtocolError"] | components["schemas"]["ValidationProxyInError"] | components["schemas"]["ValidationProxyOutError"] | components["schemas"]["ValidationRangeInvalidError"] | components["schemas"]["ValidationRangeTooWideError"] | components["schemas"]["ValidationRateLimitBurstWithoutRateError"] | components["schemas"]["ValidationRateLimitRangeError"] | components["schemas"]["ValidationRuleImmutableFieldError"] | components["schemas"]["ValidationScheduleError"] | components["schemas"]["ValidationScheduleMissingError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationSniOnUnsupportedRuleError"] | components["schemas"]["ValidationSniPatternMalformedError"] | components["schemas"]["ValidationSourceLimitError"] | components["schemas"]["ValidationSourcesError"] | components["schemas"]["ValidationTargetHostError"] | components["schemas"]["ValidationTargetsDuplicateError"] | components["schemas"]["ValidationTargetsEmptyError"] | components["schemas"]["ValidationTargetsTooManyError"] | components["schemas"]["ValidationTimeZoneError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"] | components["schemas"]["ValidationWeightError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `client_not_granted`, `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `port_outside_grant`, `protocol_not_granted`, `role_required`, `target_not_granted`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotGrantedError"] | components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["PortOutsideGrantError"] | components["schemas"]["ProtocolNotGrantedError"] | components["schemas"]["RoleRequiredError"] | components["schemas"]["TargetNotGrantedError"];
                };
            };
            /** @description Not Found: `client_not_found`, `rule_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["RuleNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `client_name_ambiguous`, `conflict.legacy_to_sni_unsupported`, `conflict.sni_fallback_duplicate`, `conflict.sni_route_duplicate`, `idempotency_in_progress`, `idempotency_secret_spent`, `port_in_use`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNameAmbiguousError"] | components["schemas"]["ConflictLegacyToSniUnsupportedError"] | components["schemas"]["ConflictSniFallbackDuplicateError"] | components["schemas"]["ConflictSniRouteDuplicateError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["PortInUseError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `activation_failed`, `client_not_connected`, `field_not_loaded`, `idempotency_key_reused`, `limit_reached`, `multi_target_unsupported_by_client`, `quota_unsupported_by_client`, `rate_limit_unsupported_by_client`, `rule_field_unsupported_by_client`, `rule_shape_not_loaded`, `sni_unsupported_by_client`, `target_filter_unsupported_by_client`, `unsupported_protocol`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivationFailedError"] | components["schemas"]["ClientNotConnectedError"] | components["schemas"]["FieldNotLoadedError"] | components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["LimitReachedError"] | components["schemas"]["MultiTargetUnsupportedByClientError"] | components["schemas"]["QuotaUnsupportedByClientError"] | components["schemas"]["RateLimitUnsupportedByClientError"] | components["schemas"]["RuleFieldUnsupportedByClientError"] | components["schemas"]["RuleShapeNotLoadedError"] | components["schemas"]["SniUnsupportedByClientError"] | components["schemas"]["TargetFilterUnsupportedByClientError"] | components["schemas"]["UnsupportedProtocolError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
            504: components["responses"]["AckTimeout"];
        };
    };
    "rule.journal": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /**
                 * @description Only entries of this kind.
                 * @example failover
                 */
                kind?: string;
                /** @description Rows in one response. */
                limit?: number;
                /** @description The oldest time. RFC 3339. */
                since?: string;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "ts" | "-ts" | "kind" | "-kind" | "cause" | "-cause" | "request_id" | "-request_id";
                /** @description The newest time, inclusive. RFC 3339. */
                until?: string;
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "ts": "2026-01-31T12:00:00.000Z",
                     *         "kind": "failover",
                     *         "from": "10.0.0.7:443",
                     *         "to": "10.0.0.8:443",
                     *         "cause": "refused",
                     *         "request_id": null,
                     *         "details": {
                     *           "target": "10.0.0.7:443"
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["JournalEntry"][];
                };
            };
            /** @description Bad Request: `invalid_cursor`, `invalid_limit`, `invalid_time_range`, `invalid_timestamp`, `validation.schema`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidCursorError"] | components["schemas"]["InvalidLimitError"] | components["schemas"]["InvalidTimeRangeError"] | components["schemas"]["InvalidTimestampError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            404: components["responses"]["RuleNotFound"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "rule.pause": {
        parameters: {
            query?: {
                /** @description How long to wait for the client; default 5. */
                ack_timeout_secs?: number;
                /** @description What becomes of live connections whose target is no longer in the rule, or whose rule is paused; default keep. */
                existing?: "keep" | "drain" | "cut";
            };
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request: `invalid_json`, `validation.amplification`, `validation.balance`, `validation.ban`, `validation.body_empty`, `validation.clients`, `validation.expires_in_past`, `validation.health_on_udp`, `validation.idempotency_key`, `validation.labels`, `validation.protocol`, `validation.proxy_in`, `validation.proxy_out`, `validation.range_invalid`, `validation.range_too_wide`, `validation.rate_limit_burst_without_rate`, `validation.rule_immutable_field`, `validation.schedule`, `validation.schedule_missing`, `validation.schema`, `validation.selector`, `validation.sni_on_unsupported_rule`, `validation.sni_pattern_malformed`, `validation.source_limit`, `validation.sources`, `validation.target_host`, `validation.targets_duplicate`, `validation.targets_empty`, `validation.targets_too_many`, `validation.time_zone`, `validation.unknown_field`, `validation.unknown_parameter`, `validation.weight`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationAmplificationError"] | components["schemas"]["ValidationBalanceError"] | components["schemas"]["ValidationBanError"] | components["schemas"]["ValidationBodyEmptyError"] | components["schemas"]["ValidationClientsError"] | components["schemas"]["ValidationExpiresInPastError"] | components["schemas"]["ValidationHealthOnUdpError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationProtocolError"] | components["schemas"]["ValidationProxyInError"] | components["schemas"]["ValidationProxyOutError"] | components["schemas"]["ValidationRangeInvalidError"] | components["schemas"]["ValidationRangeTooWideError"] | components["schemas"]["ValidationRateLimitBurstWithoutRateError"] | components["schemas"]["ValidationRuleImmutableFieldError"] | components["schemas"]["ValidationScheduleError"] | components["schemas"]["ValidationScheduleMissingError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationSniOnUnsupportedRuleError"] | components["schemas"]["ValidationSniPatternMalformedError"] | components["schemas"]["ValidationSourceLimitError"] | components["schemas"]["ValidationSourcesError"] | components["schemas"]["ValidationTargetHostError"] | components["schemas"]["ValidationTargetsDuplicateError"] | components["schemas"]["ValidationTargetsEmptyError"] | components["schemas"]["ValidationTargetsTooManyError"] | components["schemas"]["ValidationTimeZoneError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"] | components["schemas"]["ValidationWeightError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `client_not_granted`, `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `port_outside_grant`, `protocol_not_granted`, `role_required`, `target_not_granted`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotGrantedError"] | components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["PortOutsideGrantError"] | components["schemas"]["ProtocolNotGrantedError"] | components["schemas"]["RoleRequiredError"] | components["schemas"]["TargetNotGrantedError"];
                };
            };
            /** @description Not Found: `client_not_found`, `rule_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["RuleNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `client_name_ambiguous`, `conflict.legacy_to_sni_unsupported`, `conflict.sni_fallback_duplicate`, `conflict.sni_route_duplicate`, `idempotency_in_progress`, `idempotency_secret_spent`, `port_in_use`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNameAmbiguousError"] | components["schemas"]["ConflictLegacyToSniUnsupportedError"] | components["schemas"]["ConflictSniFallbackDuplicateError"] | components["schemas"]["ConflictSniRouteDuplicateError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["PortInUseError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `activation_failed`, `client_not_connected`, `field_not_loaded`, `idempotency_key_reused`, `limit_reached`, `multi_target_unsupported_by_client`, `quota_unsupported_by_client`, `rate_limit_unsupported_by_client`, `rule_field_unsupported_by_client`, `rule_shape_not_loaded`, `sni_unsupported_by_client`, `target_filter_unsupported_by_client`, `unsupported_protocol`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivationFailedError"] | components["schemas"]["ClientNotConnectedError"] | components["schemas"]["FieldNotLoadedError"] | components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["LimitReachedError"] | components["schemas"]["MultiTargetUnsupportedByClientError"] | components["schemas"]["QuotaUnsupportedByClientError"] | components["schemas"]["RateLimitUnsupportedByClientError"] | components["schemas"]["RuleFieldUnsupportedByClientError"] | components["schemas"]["RuleShapeNotLoadedError"] | components["schemas"]["SniUnsupportedByClientError"] | components["schemas"]["TargetFilterUnsupportedByClientError"] | components["schemas"]["UnsupportedProtocolError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
            504: components["responses"]["AckTimeout"];
        };
    };
    "rule.resume": {
        parameters: {
            query?: {
                /** @description How long to wait for the client; default 5. */
                ack_timeout_secs?: number;
                /** @description What becomes of live connections whose target is no longer in the rule, or whose rule is paused; default keep. */
                existing?: "keep" | "drain" | "cut";
            };
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request: `invalid_json`, `validation.amplification`, `validation.balance`, `validation.ban`, `validation.body_empty`, `validation.clients`, `validation.expires_in_past`, `validation.health_on_udp`, `validation.idempotency_key`, `validation.labels`, `validation.protocol`, `validation.proxy_in`, `validation.proxy_out`, `validation.range_invalid`, `validation.range_too_wide`, `validation.rate_limit_burst_without_rate`, `validation.rule_immutable_field`, `validation.schedule`, `validation.schedule_missing`, `validation.schema`, `validation.selector`, `validation.sni_on_unsupported_rule`, `validation.sni_pattern_malformed`, `validation.source_limit`, `validation.sources`, `validation.target_host`, `validation.targets_duplicate`, `validation.targets_empty`, `validation.targets_too_many`, `validation.time_zone`, `validation.unknown_field`, `validation.unknown_parameter`, `validation.weight`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationAmplificationError"] | components["schemas"]["ValidationBalanceError"] | components["schemas"]["ValidationBanError"] | components["schemas"]["ValidationBodyEmptyError"] | components["schemas"]["ValidationClientsError"] | components["schemas"]["ValidationExpiresInPastError"] | components["schemas"]["ValidationHealthOnUdpError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationProtocolError"] | components["schemas"]["ValidationProxyInError"] | components["schemas"]["ValidationProxyOutError"] | components["schemas"]["ValidationRangeInvalidError"] | components["schemas"]["ValidationRangeTooWideError"] | components["schemas"]["ValidationRateLimitBurstWithoutRateError"] | components["schemas"]["ValidationRuleImmutableFieldError"] | components["schemas"]["ValidationScheduleError"] | components["schemas"]["ValidationScheduleMissingError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationSniOnUnsupportedRuleError"] | components["schemas"]["ValidationSniPatternMalformedError"] | components["schemas"]["ValidationSourceLimitError"] | components["schemas"]["ValidationSourcesError"] | components["schemas"]["ValidationTargetHostError"] | components["schemas"]["ValidationTargetsDuplicateError"] | components["schemas"]["ValidationTargetsEmptyError"] | components["schemas"]["ValidationTargetsTooManyError"] | components["schemas"]["ValidationTimeZoneError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"] | components["schemas"]["ValidationWeightError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `client_not_granted`, `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `port_outside_grant`, `protocol_not_granted`, `role_required`, `target_not_granted`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotGrantedError"] | components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["PortOutsideGrantError"] | components["schemas"]["ProtocolNotGrantedError"] | components["schemas"]["RoleRequiredError"] | components["schemas"]["TargetNotGrantedError"];
                };
            };
            /** @description Not Found: `client_not_found`, `rule_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["RuleNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `client_name_ambiguous`, `conflict.legacy_to_sni_unsupported`, `conflict.sni_fallback_duplicate`, `conflict.sni_route_duplicate`, `idempotency_in_progress`, `idempotency_secret_spent`, `port_in_use`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNameAmbiguousError"] | components["schemas"]["ConflictLegacyToSniUnsupportedError"] | components["schemas"]["ConflictSniFallbackDuplicateError"] | components["schemas"]["ConflictSniRouteDuplicateError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["PortInUseError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `activation_failed`, `client_not_connected`, `field_not_loaded`, `idempotency_key_reused`, `limit_reached`, `multi_target_unsupported_by_client`, `quota_unsupported_by_client`, `rate_limit_unsupported_by_client`, `rule_field_unsupported_by_client`, `rule_shape_not_loaded`, `sni_unsupported_by_client`, `target_filter_unsupported_by_client`, `unsupported_protocol`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivationFailedError"] | components["schemas"]["ClientNotConnectedError"] | components["schemas"]["FieldNotLoadedError"] | components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["LimitReachedError"] | components["schemas"]["MultiTargetUnsupportedByClientError"] | components["schemas"]["QuotaUnsupportedByClientError"] | components["schemas"]["RateLimitUnsupportedByClientError"] | components["schemas"]["RuleFieldUnsupportedByClientError"] | components["schemas"]["RuleShapeNotLoadedError"] | components["schemas"]["SniUnsupportedByClientError"] | components["schemas"]["TargetFilterUnsupportedByClientError"] | components["schemas"]["UnsupportedProtocolError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
            504: components["responses"]["AckTimeout"];
        };
    };
    "rule.stats": {
        parameters: {
            query?: {
                /** @description Also by client. */
                per_client?: boolean;
                /** @description Also by listen port. */
                per_port?: boolean;
                /** @description Also by target. */
                per_target?: boolean;
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "protocol": "tcp",
                     *       "bytes_in": 0,
                     *       "bytes_out": 0,
                     *       "active_connections": 0,
                     *       "connections_total": 17,
                     *       "dns_failures": 0,
                     *       "datagrams_in": 0,
                     *       "datagrams_out": 0,
                     *       "active_flows": 0,
                     *       "flows_dropped_overflow": 0,
                     *       "target_failovers": 0,
                     *       "rejected": {
                     *         "descriptors": 1
                     *       },
                     *       "updated_at": "2026-01-31T12:00:00.000Z",
                     *       "per_port": [
                     *         {
                     *           "listen_port": 8443,
                     *           "bytes_in": 1200,
                     *           "bytes_out": 56000,
                     *           "active_connections": 0,
                     *           "datagrams_in": 0,
                     *           "datagrams_out": 0
                     *         }
                     *       ],
                     *       "per_target": [
                     *         {
                     *           "host": "10.0.0.7",
                     *           "port": 443,
                     *           "priority": 0,
                     *           "health": "healthy",
                     *           "bytes_in": 1200,
                     *           "bytes_out": 56000,
                     *           "connections_total": 17,
                     *           "consecutive_failures": 0
                     *         }
                     *       ],
                     *       "per_client": [
                     *         {
                     *           "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *           "client_name": "paris",
                     *           "bytes_in": 0,
                     *           "bytes_out": 0,
                     *           "active_connections": 0,
                     *           "connections_total": 17,
                     *           "dns_failures": 0,
                     *           "datagrams_in": 0,
                     *           "datagrams_out": 0,
                     *           "active_flows": 0,
                     *           "flows_dropped_overflow": 0,
                     *           "target_failovers": 0,
                     *           "rejected": {
                     *             "descriptors": 1
                     *           },
                     *           "updated_at": "2026-01-31T12:00:00.000Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["RuleStats"];
                };
            };
            /** @description Bad Request: `validation.schema`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            404: components["responses"]["RuleNotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "rule.stats-stream": {
        parameters: {
            query?: {
                /** @description Also by client. */
                per_client?: boolean;
                /** @description Also by listen port. */
                per_port?: boolean;
                /** @description Also by target. */
                per_target?: boolean;
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a rule.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                 */
                rule_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "event": "text",
                     *       "data": {
                     *         "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *         "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *         "protocol": "tcp",
                     *         "bytes_in": 0,
                     *         "bytes_out": 0,
                     *         "active_connections": 0,
                     *         "connections_total": 17,
                     *         "dns_failures": 0,
                     *         "datagrams_in": 0,
                     *         "datagrams_out": 0,
                     *         "active_flows": 0,
                     *         "flows_dropped_overflow": 0,
                     *         "target_failovers": 0,
                     *         "rejected": {
                     *           "descriptors": 1
                     *         },
                     *         "updated_at": "2026-01-31T12:00:00.000Z",
                     *         "per_port": [
                     *           {
                     *             "listen_port": 8443,
                     *             "bytes_in": 1200,
                     *             "bytes_out": 56000,
                     *             "active_connections": 0,
                     *             "datagrams_in": 0,
                     *             "datagrams_out": 0
                     *           }
                     *         ],
                     *         "per_target": [
                     *           {
                     *             "host": "10.0.0.7",
                     *             "port": 443,
                     *             "priority": 0,
                     *             "health": "healthy",
                     *             "bytes_in": 1200,
                     *             "bytes_out": 56000,
                     *             "connections_total": 17,
                     *             "consecutive_failures": 0
                     *           }
                     *         ],
                     *         "per_client": [
                     *           {
                     *             "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *             "client_name": "paris",
                     *             "bytes_in": 0,
                     *             "bytes_out": 0,
                     *             "active_connections": 0,
                     *             "connections_total": 17,
                     *             "dns_failures": 0,
                     *             "datagrams_in": 0,
                     *             "datagrams_out": 0,
                     *             "active_flows": 0,
                     *             "flows_dropped_overflow": 0,
                     *             "target_failovers": 0,
                     *             "rejected": {
                     *               "descriptors": 1
                     *             },
                     *             "updated_at": "2026-01-31T12:00:00.000Z"
                     *           }
                     *         ]
                     *       }
                     *     }
                     */
                    "text/event-stream": {
                        data: components["schemas"]["RuleStats"] | {
                            /**
                             * @description ULID of a rule.
                             * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NB
                             */
                            rule_id: string;
                        };
                        event: string;
                    };
                };
            };
            /** @description Bad Request: `validation.schema`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            404: components["responses"]["RuleNotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "rule.bulk": {
        parameters: {
            query?: {
                /** @description How long to wait for the client; default 5. */
                ack_timeout_secs?: number;
                /** @description What becomes of live connections whose target is no longer in the rule, or whose rule is paused; default keep. */
                existing?: "keep" | "drain" | "cut";
            };
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ids": [
                 *         "01KCD3F0P7Q4Y6Z8V1T5S9R2NB"
                 *       ],
                 *       "action": "pause"
                 *     }
                 */
                "application/json": components["schemas"]["BulkChange"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "matched": 1,
                     *       "results": [
                     *         {
                     *           "rule_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NB",
                     *           "status": 204,
                     *           "error": {
                     *             "code": "text",
                     *             "message": "text",
                     *             "details": {}
                     *           }
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["BulkResult"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.amplification`, `validation.balance`, `validation.ban`, `validation.body_empty`, `validation.clients`, `validation.expires_in_past`, `validation.health_on_udp`, `validation.idempotency_key`, `validation.labels`, `validation.protocol`, `validation.proxy_in`, `validation.proxy_out`, `validation.range_invalid`, `validation.range_too_wide`, `validation.rate_limit_burst_without_rate`, `validation.rate_limit_range`, `validation.rule_immutable_field`, `validation.schedule`, `validation.schedule_missing`, `validation.schema`, `validation.selector`, `validation.sni_on_unsupported_rule`, `validation.sni_pattern_malformed`, `validation.source_limit`, `validation.sources`, `validation.target_host`, `validation.targets_duplicate`, `validation.targets_empty`, `validation.targets_too_many`, `validation.time_zone`, `validation.unknown_field`, `validation.unknown_parameter`, `validation.weight`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationAmplificationError"] | components["schemas"]["ValidationBalanceError"] | components["schemas"]["ValidationBanError"] | components["schemas"]["ValidationBodyEmptyError"] | components["schemas"]["ValidationClientsError"] | components["schemas"]["ValidationExpiresInPastError"] | components["schemas"]["ValidationHealthOnUdpError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationProtocolError"] | components["schemas"]["ValidationProxyInError"] | components["schemas"]["ValidationProxyOutError"] | components["schemas"]["ValidationRangeInvalidError"] | components["schemas"]["ValidationRangeTooWideError"] | components["schemas"]["ValidationRateLimitBurstWithoutRateError"] | components["schemas"]["ValidationRateLimitRangeError"] | components["schemas"]["ValidationRuleImmutableFieldError"] | components["schemas"]["ValidationScheduleError"] | components["schemas"]["ValidationScheduleMissingError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationSniOnUnsupportedRuleError"] | components["schemas"]["ValidationSniPatternMalformedError"] | components["schemas"]["ValidationSourceLimitError"] | components["schemas"]["ValidationSourcesError"] | components["schemas"]["ValidationTargetHostError"] | components["schemas"]["ValidationTargetsDuplicateError"] | components["schemas"]["ValidationTargetsEmptyError"] | components["schemas"]["ValidationTargetsTooManyError"] | components["schemas"]["ValidationTimeZoneError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"] | components["schemas"]["ValidationWeightError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `client_not_granted`, `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `port_outside_grant`, `protocol_not_granted`, `role_required`, `target_not_granted`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotGrantedError"] | components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["PortOutsideGrantError"] | components["schemas"]["ProtocolNotGrantedError"] | components["schemas"]["RoleRequiredError"] | components["schemas"]["TargetNotGrantedError"];
                };
            };
            /** @description Not Found: `client_not_found`, `rule_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["RuleNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `client_name_ambiguous`, `conflict.legacy_to_sni_unsupported`, `conflict.sni_fallback_duplicate`, `conflict.sni_route_duplicate`, `idempotency_in_progress`, `idempotency_secret_spent`, `port_in_use`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNameAmbiguousError"] | components["schemas"]["ConflictLegacyToSniUnsupportedError"] | components["schemas"]["ConflictSniFallbackDuplicateError"] | components["schemas"]["ConflictSniRouteDuplicateError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["PortInUseError"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `activation_failed`, `client_not_connected`, `field_not_loaded`, `idempotency_key_reused`, `limit_reached`, `multi_target_unsupported_by_client`, `quota_unsupported_by_client`, `rate_limit_unsupported_by_client`, `rule_field_unsupported_by_client`, `rule_shape_not_loaded`, `sni_unsupported_by_client`, `target_filter_unsupported_by_client`, `unsupported_protocol`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivationFailedError"] | components["schemas"]["ClientNotConnectedError"] | components["schemas"]["FieldNotLoadedError"] | components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["LimitReachedError"] | components["schemas"]["MultiTargetUnsupportedByClientError"] | components["schemas"]["QuotaUnsupportedByClientError"] | components["schemas"]["RateLimitUnsupportedByClientError"] | components["schemas"]["RuleFieldUnsupportedByClientError"] | components["schemas"]["RuleShapeNotLoadedError"] | components["schemas"]["SniUnsupportedByClientError"] | components["schemas"]["TargetFilterUnsupportedByClientError"] | components["schemas"]["UnsupportedProtocolError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
            504: components["responses"]["AckTimeout"];
        };
    };
    "server.list": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "server_id": "gate-1",
                     *         "version": "2.0.0",
                     *         "started_at": "2026-01-31T12:00:00.000Z",
                     *         "last_seen_at": "2026-01-31T12:00:00.000Z",
                     *         "sessions": 12,
                     *         "leader_of": [
                     *           "stats.prune"
                     *         ]
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Server"][];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "settings.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "override": "sluice.example.com:7443",
                     *       "effective": "sluice.example.com:7443",
                     *       "endpoints": [
                     *         "sluice.example.com:7443"
                     *       ],
                     *       "source": "override",
                     *       "diagnostic": null
                     *     }
                     */
                    "application/json": components["schemas"]["AdvertisedEndpoint"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "settings.update": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "advertised_endpoint": "sluice.example.com:7443"
                 *     }
                 */
                "application/json": components["schemas"]["SettingsUpdateBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "override": "sluice.example.com:7443",
                     *       "effective": "sluice.example.com:7443",
                     *       "endpoints": [
                     *         "sluice.example.com:7443"
                     *       ],
                     *       "source": "override",
                     *       "diagnostic": null
                     *     }
                     */
                    "application/json": components["schemas"]["AdvertisedEndpoint"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `endpoint_invalid`, `endpoint_not_in_cert_san`, `idempotency_key_reused`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointInvalidError"] | components["schemas"]["EndpointNotInCertSanError"] | components["schemas"]["IdempotencyKeyReusedError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "certificate.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "fingerprint": "0000000000000000000000000000000000000000000000000000000000000000",
                     *       "source": "given",
                     *       "subject": "CN=sluice",
                     *       "names": [
                     *         "DNS:sluice.example.com"
                     *       ],
                     *       "not_before": "2026-01-31T12:00:00.000Z",
                     *       "not_after": "2026-01-31T12:00:00.000Z",
                     *       "next": "0000000000000000000000000000000000000000000000000000000000000000",
                     *       "waiting": 0,
                     *       "waiting_for": [
                     *         {
                     *           "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *           "name": "paris"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["ControlCertificate"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "source_list.list": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "name" | "-name" | "entry_count" | "-entry_count" | "rule_count" | "-rule_count" | "updated_at" | "-updated_at";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "name": "office",
                     *         "entry_count": 2,
                     *         "rule_count": 1,
                     *         "updated_at": "2026-01-31T12:00:00.000Z"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["SourceListRow"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "source_list.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description Of the list; rules name it as @name.
                 * @example office
                 */
                list_name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "office",
                     *       "entry_count": 2,
                     *       "rule_count": 1,
                     *       "updated_at": "2026-01-31T12:00:00.000Z",
                     *       "entries": [
                     *         "192.0.2.0/24",
                     *         "2001:db8::/32"
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["SourceList"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["SourceListNotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "source_list.set": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description Of the list; rules name it as @name.
                 * @example office
                 */
                list_name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "entries": [
                 *         "192.0.2.0/24",
                 *         "2001:db8::/32"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["SourceListSetBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "office",
                     *       "entry_count": 2,
                     *       "rule_count": 1,
                     *       "updated_at": "2026-01-31T12:00:00.000Z",
                     *       "entries": [
                     *         "192.0.2.0/24",
                     *         "2001:db8::/32"
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["SourceList"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.idempotency_key`, `validation.schema`, `validation.sources`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSourcesError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `limit_reached`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["LimitReachedError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "source_list.delete": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description Of the list; rules name it as @name.
                 * @example office
                 */
                list_name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["SourceListNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `idempotency_in_progress`, `idempotency_secret_spent`, `source_list_in_use`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["SourceListInUseError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "stats.summary": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "clients": {
                     *         "total": 3,
                     *         "connected": 2
                     *       },
                     *       "rules": {
                     *         "total": 3,
                     *         "active": 3,
                     *         "failed": 0
                     *       },
                     *       "bytes_in": 0,
                     *       "bytes_out": 0,
                     *       "active_connections": 2
                     *     }
                     */
                    "application/json": components["schemas"]["StatsSummary"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "traffic.of-all": {
        parameters: {
            query: {
                /** @description Default: 1m for at most 24 h that begin within the last 7 days, else 1h. */
                bucket?: "1m" | "1h";
                /**
                 * @description First second, Unix time.
                 * @example 1767225600
                 */
                from: number;
                /**
                 * @description The second after the last, Unix time.
                 * @example 1767229200
                 */
                to: number;
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "bucket": "1m",
                     *       "samples": [
                     *         {
                     *           "ts": 1767225600,
                     *           "bytes_in": 1200,
                     *           "bytes_out": 56000
                     *         }
                     *       ],
                     *       "total_bytes_in": 1200,
                     *       "total_bytes_out": 56000
                     *     }
                     */
                    "application/json": components["schemas"]["Traffic"];
                };
            };
            /** @description Bad Request: `invalid_bucket`, `invalid_time_range`, `validation.schema`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidBucketError"] | components["schemas"]["InvalidTimeRangeError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["QuotaBucketOutOfRetention"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "under_attack.list": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "client_id" | "-client_id" | "client_name" | "-client_name" | "reason" | "-reason" | "made_by" | "-made_by" | "from" | "-from" | "until" | "-until" | "connections" | "-connections" | "new_connections" | "-new_connections" | "within_secs" | "-within_secs";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "client_id": "text",
                     *         "client_name": "text",
                     *         "reason": "text",
                     *         "made_by": "root",
                     *         "from": "2026-01-31T12:00:00.000Z",
                     *         "until": "2026-01-31T12:00:00.000Z",
                     *         "connections": 20,
                     *         "new_connections": 20,
                     *         "within_secs": 10
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["UnderAttack"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "under_attack.on_for_all": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "for_secs": 7200,
                 *       "reason": "flood since noon"
                 *     }
                 */
                "application/json": components["schemas"]["UnderAttackOnForAllBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "under_attack": [
                     *         {
                     *           "client_id": "text",
                     *           "client_name": "text",
                     *           "reason": "text",
                     *           "made_by": "root",
                     *           "from": "2026-01-31T12:00:00.000Z",
                     *           "until": "2026-01-31T12:00:00.000Z",
                     *           "connections": 20,
                     *           "new_connections": 20,
                     *           "within_secs": 10
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["UnderAttackOnForAllReply"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `under_attack_unsupported_by_client`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["UnderAttackUnsupportedByClientError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "under_attack.off_for_all": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "user.list": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Only rows with this value. */
                disabled?: boolean;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Only rows with this value. */
                password_change_required?: boolean;
                /**
                 * @description Only rows with this value.
                 * @example superadmin
                 */
                role?: "superadmin" | "user";
                /**
                 * @description Labels of the rows, in the syntax of Kubernetes: env=prod,tier!=db,!old,zone in (a,b). `!=` and `notin` also match rows without the label.
                 * @example env=prod,tier!=db
                 */
                selector?: string;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "user_id" | "-user_id" | "display_name" | "-display_name" | "role" | "-role" | "disabled" | "-disabled" | "created_at" | "-created_at" | "rule_count" | "-rule_count" | "password_change_required" | "-password_change_required" | "credential_count" | "-credential_count" | "grant_count" | "-grant_count";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "user_id": "ann",
                     *         "display_name": "Ann Miller",
                     *         "role": "superadmin",
                     *         "disabled": true,
                     *         "created_at": "2026-01-31T12:00:00.000Z",
                     *         "labels": {
                     *           "env": "prod",
                     *           "example.com/tier": "db"
                     *         },
                     *         "rule_count": 0,
                     *         "password_change_required": true,
                     *         "credential_count": 0,
                     *         "grant_count": 0
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["User"][];
                };
            };
            /** @description Bad Request: `invalid_cursor`, `invalid_limit`, `validation.schema`, `validation.selector`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidCursorError"] | components["schemas"]["InvalidLimitError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["Forbidden"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "user.create": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user_id": "ann",
                 *       "display_name": "Ann Miller",
                 *       "labels": {
                 *         "env": "prod",
                 *         "example.com/tier": "db"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["UserCreateBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user_id": "ann",
                     *       "display_name": "Ann Miller",
                     *       "role": "superadmin",
                     *       "disabled": true,
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       },
                     *       "rule_count": 0,
                     *       "password_change_required": true,
                     *       "credential_count": 0,
                     *       "grant_count": 0
                     *     }
                     */
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.idempotency_key`, `validation.labels`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `idempotency_in_progress`, `idempotency_secret_spent`, `user_already_exists`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["UserAlreadyExistsError"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `initial_password_required`, `invalid_display_name`, `invalid_role`, `invalid_user_id`, `password_too_long`, `password_too_short`, `reserved_user_id`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["InitialPasswordRequiredError"] | components["schemas"]["InvalidDisplayNameError"] | components["schemas"]["InvalidRoleError"] | components["schemas"]["InvalidUserIdError"] | components["schemas"]["PasswordTooLongError"] | components["schemas"]["PasswordTooShortError"] | components["schemas"]["ReservedUserIdError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            /** @description Service Unavailable: `bootstrap_required`, `busy`, `store_outcome_unknown`, `store_unavailable`. */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BootstrapRequiredError"] | components["schemas"]["BusyError"] | components["schemas"]["StoreOutcomeUnknownError"] | components["schemas"]["StoreUnavailableError"];
                };
            };
        };
    };
    "user.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user_id": "ann",
                     *       "display_name": "Ann Miller",
                     *       "role": "superadmin",
                     *       "disabled": true,
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       },
                     *       "rule_count": 0,
                     *       "password_change_required": true,
                     *       "credential_count": 0,
                     *       "grant_count": 0
                     *     }
                     */
                    "application/json": components["schemas"]["User"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            404: components["responses"]["UserNotFound"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "user.delete": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user_id": "ann",
                     *       "removed_rule_ids": [],
                     *       "removed_credential_ids": [],
                     *       "removed_grant_ids": []
                     *     }
                     */
                    "application/json": components["schemas"]["UserDeleteReply"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["UserNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `cannot_remove_self`, `idempotency_in_progress`, `idempotency_secret_spent`, `last_superadmin`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CannotRemoveSelfError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["LastSuperadminError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "user.update": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "display_name": "Ann Miller",
                 *       "labels": {
                 *         "env": "prod",
                 *         "example.com/tier": "db"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["UserUpdateBody"];
                /**
                 * @example {
                 *       "display_name": "Ann Miller",
                 *       "labels": {
                 *         "env": "prod",
                 *         "example.com/tier": "db"
                 *       }
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["UserUpdateBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user_id": "ann",
                     *       "display_name": "Ann Miller",
                     *       "role": "superadmin",
                     *       "disabled": true,
                     *       "created_at": "2026-01-31T12:00:00.000Z",
                     *       "labels": {
                     *         "env": "prod",
                     *         "example.com/tier": "db"
                     *       },
                     *       "rule_count": 0,
                     *       "password_change_required": true,
                     *       "credential_count": 0,
                     *       "grant_count": 0
                     *     }
                     */
                    "application/json": components["schemas"]["User"];
                };
            };
            /** @description Bad Request: `invalid_json`, `validation.idempotency_key`, `validation.labels`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationLabelsError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["UserNotFound"];
            408: components["responses"]["RequestTimeout"];
            /** @description Conflict: `cannot_remove_self`, `idempotency_in_progress`, `idempotency_secret_spent`, `last_superadmin`. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CannotRemoveSelfError"] | components["schemas"]["IdempotencyInProgressError"] | components["schemas"]["IdempotencySecretSpentError"] | components["schemas"]["LastSuperadminError"];
                };
            };
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `invalid_display_name`, `invalid_role`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["InvalidDisplayNameError"] | components["schemas"]["InvalidRoleError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "credential.list": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "credential_id" | "-credential_id" | "user_id" | "-user_id" | "label" | "-label" | "created_at" | "-created_at" | "last_used_at" | "-last_used_at" | "expires_at" | "-expires_at" | "revoked_at" | "-revoked_at";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "credential_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NC",
                     *         "user_id": "ann",
                     *         "label": "deploy@ci",
                     *         "created_at": "2026-01-31T12:00:00.000Z",
                     *         "last_used_at": "2026-01-31T12:00:00.000Z",
                     *         "expires_at": "2026-01-31T12:00:00.000Z",
                     *         "revoked_at": "2026-01-31T12:00:00.000Z"
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Credential"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            404: components["responses"]["UserNotFound"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "credential.issue": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "label": "deploy@ci",
                 *       "expires_in_secs": 7776000
                 *     }
                 */
                "application/json": components["schemas"]["CredentialIssueBody"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "credential_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NC",
                     *       "user_id": "ann",
                     *       "token": "svct_EXAMPLE-of-a-token-do-not-use",
                     *       "label": "deploy@ci",
                     *       "created_at": "2026-01-31T12:00:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["IssuedCredential"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `role_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["RoleRequiredError"];
                };
            };
            404: components["responses"]["UserNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `limit_reached`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["LimitReachedError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "credential.revoke": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NC
                 */
                cred_id: string;
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `role_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["RoleRequiredError"];
                };
            };
            /** @description Not Found: `credential_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CredentialNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "credential.rotate": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NC
                 */
                cred_id: string;
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "credential_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NC",
                     *       "user_id": "ann",
                     *       "token": "svct_EXAMPLE-of-a-token-do-not-use",
                     *       "label": "deploy@ci",
                     *       "created_at": "2026-01-31T12:00:00.000Z"
                     *     }
                     */
                    "application/json": components["schemas"]["IssuedCredential"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `csrf_content_type_required`, `csrf_header_required`, `csrf_origin_mismatch`, `csrf_origin_required`, `not_owner`, `password_change_required`, `role_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CsrfContentTypeRequiredError"] | components["schemas"]["CsrfHeaderRequiredError"] | components["schemas"]["CsrfOriginMismatchError"] | components["schemas"]["CsrfOriginRequiredError"] | components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"] | components["schemas"]["RoleRequiredError"];
                };
            };
            /** @description Not Found: `credential_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CredentialNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "password.reset": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "temporary": true
                 *     }
                 */
                "application/json": components["schemas"]["PasswordResetBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user_id": "ann",
                     *       "sessions_revoked": 1,
                     *       "api_tokens_revoked": 2,
                     *       "temporary_password": "EXAMPLE-of-a-password"
                     *     }
                     */
                    "application/json": components["schemas"]["PasswordResetReply"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["UserNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `invalid_password_reset`, `password_too_long`, `password_too_short`, `password_unchanged`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["InvalidPasswordResetError"] | components["schemas"]["PasswordTooLongError"] | components["schemas"]["PasswordTooShortError"] | components["schemas"]["PasswordUnchangedError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            /** @description Service Unavailable: `bootstrap_required`, `busy`, `store_outcome_unknown`, `store_unavailable`. */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BootstrapRequiredError"] | components["schemas"]["BusyError"] | components["schemas"]["StoreOutcomeUnknownError"] | components["schemas"]["StoreUnavailableError"];
                };
            };
        };
    };
    "quota.list": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Only rows with this value. */
                enforced?: boolean;
                /** @description Only rows with this value. */
                exhausted?: boolean;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "user_id" | "-user_id" | "client_id" | "-client_id" | "client_name" | "-client_name" | "monthly_bytes" | "-monthly_bytes" | "billing_anchor" | "-billing_anchor" | "bytes_used" | "-bytes_used" | "bytes_remaining" | "-bytes_remaining" | "period_start" | "-period_start" | "period_end" | "-period_end" | "exhausted" | "-exhausted" | "exhausted_at" | "-exhausted_at" | "enforced" | "-enforced" | "created_at" | "-created_at" | "updated_at" | "-updated_at";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "user_id": "ann",
                     *         "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *         "client_name": "paris",
                     *         "monthly_bytes": 500000000000,
                     *         "billing_anchor": 1767225600,
                     *         "bytes_used": 120000000000,
                     *         "bytes_remaining": 380000000000,
                     *         "period_start": 1767225600,
                     *         "period_end": 1769904000,
                     *         "exhausted": false,
                     *         "exhausted_at": null,
                     *         "enforced": true,
                     *         "created_at": 1767225600,
                     *         "updated_at": 1767225600
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Quota"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            404: components["responses"]["UserNotFound"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "quota.set": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "monthly_bytes": 500000000000
                 *     }
                 */
                "application/json": components["schemas"]["QuotaSetBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user_id": "ann",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "monthly_bytes": 500000000000,
                     *       "billing_anchor": 1767225600,
                     *       "bytes_used": 120000000000,
                     *       "bytes_remaining": 380000000000,
                     *       "period_start": 1767225600,
                     *       "period_end": 1769904000,
                     *       "exhausted": false,
                     *       "exhausted_at": null,
                     *       "enforced": true,
                     *       "created_at": 1767225600,
                     *       "updated_at": 1767225600
                     *     }
                     */
                    "application/json": components["schemas"]["Quota"];
                };
            };
            /** @description Bad Request: `invalid_billing_anchor`, `invalid_json`, `invalid_quota_size`, `validation.idempotency_key`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidBillingAnchorError"] | components["schemas"]["InvalidJsonError"] | components["schemas"]["InvalidQuotaSizeError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            /** @description Not Found: `client_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `quota_unsupported_by_client`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["QuotaUnsupportedByClientError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "quota.delete": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            /** @description Not Found: `client_not_found`, `quota_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["QuotaNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "quota.update": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "monthly_bytes": 500000000000,
                 *       "clear_period_usage": true
                 *     }
                 */
                "application/json": components["schemas"]["QuotaUpdateBody"];
                /**
                 * @example {
                 *       "monthly_bytes": 500000000000,
                 *       "clear_period_usage": true
                 *     }
                 */
                "application/merge-patch+json": components["schemas"]["QuotaUpdateBody"];
            };
        };
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user_id": "ann",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "monthly_bytes": 500000000000,
                     *       "billing_anchor": 1767225600,
                     *       "bytes_used": 120000000000,
                     *       "bytes_remaining": 380000000000,
                     *       "period_start": 1767225600,
                     *       "period_end": 1769904000,
                     *       "exhausted": false,
                     *       "exhausted_at": null,
                     *       "enforced": true,
                     *       "created_at": 1767225600,
                     *       "updated_at": 1767225600
                     *     }
                     */
                    "application/json": components["schemas"]["Quota"];
                };
            };
            /** @description Bad Request: `invalid_json`, `invalid_quota_size`, `validation.idempotency_key`, `validation.schema`, `validation.unknown_field`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidJsonError"] | components["schemas"]["InvalidQuotaSizeError"] | components["schemas"]["ValidationIdempotencyKeyError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownFieldError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            /** @description Not Found: `client_not_found`, `quota_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["QuotaNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `quota_unsupported_by_client`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["QuotaUnsupportedByClientError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
    "quota.status": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID of a client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id: string;
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    ETag: components["headers"]["ETag"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user_id": "ann",
                     *       "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *       "client_name": "paris",
                     *       "monthly_bytes": 500000000000,
                     *       "billing_anchor": 1767225600,
                     *       "bytes_used": 120000000000,
                     *       "bytes_remaining": 380000000000,
                     *       "period_start": 1767225600,
                     *       "period_end": 1769904000,
                     *       "exhausted": false,
                     *       "exhausted_at": null,
                     *       "enforced": true,
                     *       "created_at": 1767225600,
                     *       "updated_at": 1767225600
                     *     }
                     */
                    "application/json": components["schemas"]["Quota"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            /** @description Not Found: `client_not_found`, `quota_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["QuotaNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "traffic.of-user": {
        parameters: {
            query: {
                /** @description Default: 1m for at most 24 h that begin within the last 7 days, else 1h. */
                bucket?: "1m" | "1h";
                /**
                 * @description Only on this client.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NA
                 */
                client_id?: string;
                /**
                 * @description First second, Unix time.
                 * @example 1767225600
                 */
                from: number;
                /**
                 * @description The second after the last, Unix time.
                 * @example 1767229200
                 */
                to: number;
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description 1 to 32 of a-z, 0-9, _, -; a letter first.
                 * @example ann
                 */
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "bucket": "1m",
                     *       "samples": [
                     *         {
                     *           "ts": 1767225600,
                     *           "bytes_in": 1200,
                     *           "bytes_out": 56000
                     *         }
                     *       ],
                     *       "total_bytes_in": 1200,
                     *       "total_bytes_out": 56000
                     *     }
                     */
                    "application/json": components["schemas"]["Traffic"];
                };
            };
            /** @description Bad Request: `invalid_bucket`, `invalid_time_range`, `validation.schema`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidBucketError"] | components["schemas"]["InvalidTimeRangeError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            /** @description Forbidden: `not_owner`, `password_change_required`. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotOwnerError"] | components["schemas"]["PasswordChangeRequiredError"];
                };
            };
            /** @description Not Found: `client_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClientNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["QuotaBucketOutOfRetention"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "self.read": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; the reply shows what is there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "user_id": "ann",
                     *       "role": "superadmin",
                     *       "display_name": "Ann Miller"
                     *     }
                     */
                    "application/json": components["schemas"]["Me"];
                };
            };
            400: components["responses"]["ValidationUnknownParameter"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            408: components["responses"]["RequestTimeout"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "grant.list-own": {
        parameters: {
            query?: {
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /**
                 * @description Labels of the rows, in the syntax of Kubernetes: env=prod,tier!=db,!old,zone in (a,b). `!=` and `notin` also match rows without the label.
                 * @example env=prod,tier!=db
                 */
                selector?: string;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "grant_id" | "-grant_id" | "user_id" | "-user_id" | "client_id" | "-client_id" | "client_name" | "-client_name" | "listen_port_start" | "-listen_port_start" | "listen_port_end" | "-listen_port_end" | "note" | "-note" | "created_at" | "-created_at";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "grant_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NG",
                     *         "user_id": "ann",
                     *         "client_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NA",
                     *         "client_name": "paris",
                     *         "listen_port_start": 8000,
                     *         "listen_port_end": 8999,
                     *         "protocols": [
                     *           "tcp"
                     *         ],
                     *         "targets": [
                     *           "10.0.0.0/8"
                     *         ],
                     *         "note": "ticket 4711",
                     *         "created_at": "2026-01-31T12:00:00.000Z",
                     *         "labels": {
                     *           "env": "prod",
                     *           "example.com/tier": "db"
                     *         }
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Grant"][];
                };
            };
            /** @description Bad Request: `invalid_cursor`, `invalid_limit`, `validation.schema`, `validation.selector`, `validation.unknown_parameter`. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidCursorError"] | components["schemas"]["InvalidLimitError"] | components["schemas"]["ValidationSchemaError"] | components["schemas"]["ValidationSelectorError"] | components["schemas"]["ValidationUnknownParameterError"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "password.change": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "current_password": "correct horse battery staple",
                 *       "new_password": "staple battery horse correct",
                 *       "new_password_confirm": "staple battery horse correct"
                 *     }
                 */
                "application/json": components["schemas"]["PasswordChangeBody"];
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            /** @description Unauthorized: `invalid_login`, `unauthenticated`, `user_disabled`. */
            401: {
                headers: {
                    "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvalidLoginError"] | components["schemas"]["UnauthenticatedError"] | components["schemas"]["UserDisabledError"];
                };
            };
            403: components["responses"]["ForbiddenChange"];
            404: components["responses"]["UserNotFound"];
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description Unprocessable Entity: `idempotency_key_reused`, `password_mismatch`, `password_too_long`, `password_too_short`, `password_unchanged`. */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdempotencyKeyReusedError"] | components["schemas"]["PasswordMismatchError"] | components["schemas"]["PasswordTooLongError"] | components["schemas"]["PasswordTooShortError"] | components["schemas"]["PasswordUnchangedError"];
                };
            };
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            /** @description Service Unavailable: `bootstrap_required`, `busy`, `store_outcome_unknown`, `store_unavailable`. */
            503: {
                headers: {
                    "Retry-After": components["headers"]["Retry-After"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BootstrapRequiredError"] | components["schemas"]["BusyError"] | components["schemas"]["StoreOutcomeUnknownError"] | components["schemas"]["StoreUnavailableError"];
                };
            };
        };
    };
    "session.list": {
        parameters: {
            query?: {
                /** @description Only rows with this value. */
                current?: boolean;
                /** @description From the Link header of the previous page. */
                cursor?: string;
                /** @description Rows in one response. */
                limit?: number;
                /** @description Order of the rows; with `-` descending. Null comes last. */
                sort?: "session_id" | "-session_id" | "created_at" | "-created_at" | "last_seen_at" | "-last_seen_at" | "expires_at" | "-expires_at" | "remote_addr" | "-remote_addr" | "current" | "-current";
            };
            header?: {
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page of the list. */
            200: {
                headers: {
                    Link: components["headers"]["Link"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example [
                     *       {
                     *         "session_id": "01KCD3F0P7Q4Y6Z8V1T5S9R2NS",
                     *         "created_at": "2026-01-31T12:00:00.000Z",
                     *         "last_seen_at": "2026-01-31T12:00:00.000Z",
                     *         "expires_at": "2026-01-31T12:00:00.000Z",
                     *         "remote_addr": "198.51.100.7",
                     *         "current": true
                     *       }
                     *     ]
                     */
                    "application/json": components["schemas"]["Session"][];
                };
            };
            400: components["responses"]["InvalidPage"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["PasswordChangeRequired"];
            404: components["responses"]["UserNotFound"];
            408: components["responses"]["RequestTimeout"];
            422: components["responses"]["LimitReached"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    "session.end": {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A retry with the same key and body, within 24 hours, gets the first response.
                 * @example push-8443-of-paris
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description ETags, or `*`. If the record has another one by now, the response is 412 and nothing is changed.
                 * @example "42"
                 */
                "If-Match"?: components["parameters"]["IfMatch"];
                /**
                 * @description W3C Trace Context: log lines of the request have its trace id as `trace_id`.
                 * @example 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 */
                traceparent?: components["parameters"]["Traceparent"];
            };
            path: {
                /**
                 * @description ULID.
                 * @example 01KCD3F0P7Q4Y6Z8V1T5S9R2NS
                 */
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["ForbiddenChange"];
            /** @description Not Found: `session_not_found`, `user_not_found`. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionNotFoundError"] | components["schemas"]["UserNotFoundError"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            409: components["responses"]["IdempotencyConflict"];
            412: components["responses"]["ResourceChanged"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["RateLimited"];
            431: components["responses"]["HeadersTooLarge"];
            500: components["responses"]["Internal"];
            503: components["responses"]["UnavailableChange"];
        };
    };
}
