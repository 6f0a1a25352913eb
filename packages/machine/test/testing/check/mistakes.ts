/** The mistakes of each protocol of `protocols.ts`, each with a property that it breaks. */
export const mistakes: { readonly [protocol: string]: { readonly [mistake: string]: string } } = {
  payment: {
    "charges again on a second click": "charges at most once",
    "cancels while the charge is on its way": "keeps no money of a cancelled payment",
    "releases before the charge is known": "loses no result",
    "forgets to release": "keeps no money of a cancelled payment",
    "releases twice": "releases at most once",
    "does nothing after a refusal": "a state that is not final can be left",
    "tries for ever": "ends",
    "takes a time-out for a refusal": "keeps no money of a cancelled payment",
    "ends a charge by a deadline": "loses no result",
    "ignores the result of the release": "ends",
  },
  approval: {
    "restarts its deadlines with every reminder": "ends",
    "counts one person twice": "two people approve",
    "forgets the delayed escalation": "an approved request is archived",
    "approves alone after an escalation": "two people approve",
    "cannot leave an escalation": "a state that is not final can be left",
    "has no deadline for an escalation": "ends",
  },
  trip: {
    "waits for the flight only": "a booked trip has both parts",
    "takes a failed hotel for a booked one": "a booked trip has both parts",
    "cancels before the other answer has come": "loses no result",
    "cancels only what was booked": "a failed trip keeps no part",
    "counts the cancelled parts wrongly": "ends",
    "ends at the first cancelled part": "loses no result",
  },
  lock: {
    "gives a held lock away": "has one holder",
    "lets anybody release it": "no stay ends before it began",
    "has no deadline": "becomes free",
    "does not end the stay of a holder that is late": "has one holder",
  },
  list: {
    "sends itself events without end": "no decision fails",
    "throws on the second item": "no decision fails",
    "leaves its schema": "no decision fails",
    "closes before all items have come": "closes with all items",
    "refuses what comes before it has loaded": "closes with all items",
  },
}
